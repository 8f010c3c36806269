// Replaying an event: new deliveries for an old event, matched against the subscriptions as they are now.
import { parseBody } from '../match/body.ts';
import type { Configuration } from '../match/follow.ts';
import type { Delivery, OpenDelivery } from '../model/delivery.ts';
import { ApiError } from '../model/error.ts';
import type { Event } from '../model/event.ts';
import { idTime } from '../model/id.ts';
import type { EventId } from '../model/id.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Ids } from '../runtime/ids.ts';
import type { NewDelivery, Store } from '../store/store.ts';
import { matchDeliveries, toOpenDeliveries } from './deliveries.ts';
import { STALE_TRIES_MAX, staleTooOften } from './stale.ts';

type ReplayRequest = { environment: number; eventId: EventId; destinationIds: string[] | null };

export type ReplayOptions = {
  store: Pick<Store, 'readEvent' | 'replayEvent'>;
  configurationOf: (environment: number) => Configuration;
  /** Loads configuration changes made elsewhere; resolves when matching may go on. */
  catchUp: (environment: number) => Promise<void>;
  clock: Clock;
  ids: Ids;
  bodyRetentionMs: number;
  /** Called after the commit, with what can be sent at once. */
  onScheduled: (deliveries: OpenDelivery[], event: Event, body: Uint8Array) => void;
};

export function createReplay(options: ReplayOptions): (request: ReplayRequest) => Promise<Delivery[]> {
  const { store, configurationOf, catchUp, clock, ids, bodyRetentionMs } = options;

  const schedule = async (request: ReplayRequest, event: Event, bytes: Uint8Array): Promise<Delivery[] | 'stale'> => {
    const configuration = configurationOf(request.environment);
    const body = { bytes, parse: () => parseBody(new TextDecoder().decode(bytes)) };
    const matched = await matchDeliveries(configuration, { type: event.type, body }, ids);
    const deliveries = selectDestinations(matched.deliveries, request.destinationIds);
    const stored = await store.replayEvent({
      environment: request.environment,
      eventId: event.id,
      configVersion: matched.configVersion,
      deliveries,
      now: clock.now(),
      bodyCutoff: clock.now() - bodyRetentionMs,
    });
    if (stored.result === 'stale') return 'stale';
    if (stored.result !== 'replayed') throw cannotReplay(stored.result);
    const isDead = new Set(stored.backlogFull);
    const open = deliveries.filter(({ id }) => !isDead.has(id));
    if (open.length > 0) options.onScheduled(toOpenDeliveries(event, open), event, bytes);
    return deliveries.map((delivery) => toRow(delivery, event, configuration, isDead.has(delivery.id)));
  };

  return async (request) => {
    for (let tries = 0; tries < STALE_TRIES_MAX; tries++) {
      const stored = await store.readEvent({ environment: request.environment, id: request.eventId });
      if (stored === null) throw cannotReplay('not_found');
      if (stored.body === null) throw cannotReplay('too_old');
      const rows = await schedule(request, stored.event, stored.body);
      if (rows !== 'stale') return rows;
      await catchUp(request.environment);
    }
    throw staleTooOften();
  };
}

/** All that matched, or those of the named destinations; every named one must have matched. */
function selectDestinations(matched: NewDelivery[], destinationIds: string[] | null): NewDelivery[] {
  if (destinationIds === null) return matched;
  const wanted = new Map<string, boolean>(destinationIds.map((id) => [id, false]));
  const selected = matched.filter(({ destinationId }) => wanted.has(destinationId));
  for (const { destinationId } of selected) wanted.set(destinationId, true);
  const index = destinationIds.findIndex((id) => !wanted.get(id));
  if (index === -1) return selected;
  throw new ApiError(
    'destination_not_subscribed',
    'this destination has no subscription that matches the event now; nothing was scheduled',
    { param: `/destination_ids/${index}` },
  );
}

function cannotReplay(reason: 'not_found' | 'too_old'): ApiError {
  return reason === 'not_found'
    ? new ApiError('event_not_found', 'there is no event of this id in this environment')
    : new ApiError('event_too_old', 'the body of this event has been erased; post it anew');
}

/** The list row of a delivery that was just made. */
function toRow(delivery: NewDelivery, event: Event, configuration: Configuration, isDead: boolean): Delivery {
  const createdAt = idTime(delivery.id);
  const isPaused = configuration.destinations.get(delivery.destinationId)?.status === 'paused';
  return {
    id: delivery.id,
    eventId: event.id,
    eventType: event.type,
    destinationId: delivery.destinationId,
    subscriptionId: delivery.subscriptionId,
    status: isDead ? 'dead' : 'pending',
    deadReason: isDead ? 'backlog_full' : null,
    origin: 'replay',
    attemptCount: 0,
    retryCount: 0,
    responseCodes: [],
    nextAttemptAt: isDead || isPaused ? null : createdAt,
    createdAt,
    updatedAt: createdAt,
    completedAt: isDead ? createdAt : null,
  };
}
