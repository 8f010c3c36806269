// Replaying an event: new deliveries for an old event, matched against the subscriptions as they are now.
import type { Configuration } from '../configuration/follower.ts';
import { toNewRow, type Delivery } from '../model/delivery.ts';
import { ApiError } from '../model/error.ts';
import type { Event } from '../model/event.ts';
import type { EventId } from '../model/id.ts';
import type { Observer } from '../model/observer.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Ids } from '../runtime/ids.ts';
import type { Store } from '../store/store.ts';
import {
  createReplayTurns,
  handOn,
  matchDeliveries,
  STALE_TRIES_MAX,
  staleTooOften,
  toStoredBody,
  type MatchedDeliveries,
  type OnScheduled,
} from './deliveries.ts';

export type EventReplay = { environment: number; eventId: EventId; destinationIds: string[] | null };

export type ReplayOptions = {
  store: Pick<Store, 'readEvent' | 'replayEvent' | 'lanes'>;
  configurationOf: (environment: number) => Configuration;
  /** Loads configuration changes made elsewhere; resolves when matching may go on. */
  catchUp: (environment: number) => Promise<void>;
  clock: Clock;
  ids: Ids;
  bodyRetentionMs: number;
  /** Deliveries that one event, or one replay, may make. */
  maxFanout: number;
  onScheduled: OnScheduled;
  observer: Pick<Required<Observer>, 'scheduled'>;
};

type StoredEvent = { event: Event; body: Uint8Array };

export type Replays = ReturnType<typeof createReplays>;

export function createReplays(options: ReplayOptions) {
  const { store, configurationOf, catchUp, clock, bodyRetentionMs } = options;
  const turns = createReplayTurns(options);

  const schedule = async (
    request: EventReplay,
    { event, body }: StoredEvent,
  ): Promise<Iterable<Delivery> | 'stale'> => {
    const configuration = configurationOf(request.environment);
    const versionBefore = configuration.version;
    const matched = await matchForReplay(configuration, { event, body }, request.destinationIds, options);
    if (matched instanceof ApiError) {
      // A subscription may have been made or deleted on another node since.
      await catchUp(request.environment);
      if (configurationOf(request.environment).version > versionBefore) return 'stale';
      throw matched;
    }
    const { configVersion, deliveries } = matched;
    const { environment, eventId } = request;
    const now = clock.now();
    const result = turns.submit({
      environment,
      eventId,
      configVersion,
      deliveries,
      now,
      bodyCutoff: now - bodyRetentionMs,
    });
    if (result === null) {
      throw new ApiError('unavailable', 'too many replays wait to be stored; try again', { retryAfterSeconds: 1 });
    }
    const stored = await result;
    if (stored.result === 'stale') return 'stale';
    if (stored.result !== 'replayed') throw cannotReplay(stored.result);
    const made = { origin: 'replay', event, body, deliveries, dueAt: now } as const;
    const dead = handOn(options, made, stored);
    return deliveries.values().map((delivery) => {
      const isPaused = configuration.destinations.get(delivery.destinationId)?.status === 'paused';
      return toNewRow(delivery, made, { isDead: dead.has(delivery.id), isPaused });
    });
  };

  return {
    /** The list rows of the new deliveries, each made when it is asked for. */
    async replay(request: EventReplay): Promise<Iterable<Delivery>> {
      for (let tries = 0; tries < STALE_TRIES_MAX; tries++) {
        const stored = await store.readEvent({ environment: request.environment, id: request.eventId });
        if (stored === null) throw cannotReplay('not_found');
        // Before what subscribes is asked: the bytes of a body that is past its retention may still be there.
        const isTooOld = stored.event.createdAt < clock.now() - bodyRetentionMs;
        if (stored.body === null || isTooOld) throw cannotReplay('too_old');
        const rows = await schedule(request, { event: stored.event, body: stored.body });
        if (rows !== 'stale') return rows;
        await catchUp(request.environment);
      }
      throw staleTooOften();
    },
    /** Resolves when all that was asked for is committed or refused. */
    idle: (): Promise<void> => turns.idle(),
  };
}

/** Or why this configuration refuses it: it would make too many deliveries, or a destination that is named none. */
async function matchForReplay(
  configuration: Configuration,
  { event, body }: StoredEvent,
  destinationIds: string[] | null,
  { ids, maxFanout: max }: ReplayOptions,
): Promise<MatchedDeliveries | ApiError> {
  const scope = { ids, max, destinationIds: destinationIds === null ? undefined : new Set(destinationIds) };
  const matched = await matchDeliveries(configuration, { type: event.type, body: toStoredBody(body) }, scope);
  if (matched === null) return overFanout(max);
  const found = new Set<string>(matched.deliveries.map(({ destinationId }) => destinationId));
  const index = destinationIds?.findIndex((id) => !found.has(id)) ?? -1;
  return index === -1 ? matched : notSubscribed(index);
}

function notSubscribed(index: number): ApiError {
  return new ApiError(
    'destination_not_subscribed',
    'this destination has no subscription that matches the event now; nothing was scheduled',
    { param: `/destination_ids/${index}` },
  );
}

function overFanout(max: number): ApiError {
  return new ApiError(
    'over_fanout_limit',
    `this replay would make more than ${max} deliveries, and nothing was scheduled; name fewer destinations in ` +
      'destination_ids, and send the rest in further requests',
    { param: '/destination_ids' },
  );
}

function cannotReplay(reason: 'not_found' | 'too_old'): ApiError {
  return reason === 'not_found'
    ? new ApiError('event_not_found', 'there is no event of this id in this environment')
    : new ApiError('event_too_old', 'the body of this event has been erased; post it anew');
}
