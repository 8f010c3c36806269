// The dispatcher with its real pipeline, recorder and payloads, on a virtual clock: requests end when the test says so,
// and results are stored when it says so. No whole service (app/service.ts): its store and its configuration would have
// to be real, and these tests hold back single answers and change single destinations of theirs.
import assert from 'node:assert/strict';
import { Dispatcher } from '../../src/dispatch/dispatcher.ts';
import type { Ownership } from '../../src/model/ownership.ts';
import { Payloads } from '../../src/dispatch/payloads.ts';
import { AttemptPipeline } from '../../src/dispatch/pipeline.ts';
import type { AttemptResult } from '../../src/model/attempt.ts';
import type { OpenDelivery } from '../../src/model/delivery.ts';
import { observeAll } from '../../src/model/observer.ts';
import type { DestinationWithKeys } from '../../src/model/destination.ts';
import type { DeliveryId, DestinationId } from '../../src/model/id.ts';
import { Recorder } from '../../src/record/recorder.ts';
import { createClockTrust } from '../../src/runtime/clock-trust.ts';
import type { EventPayload, RecordOutcome, ResultToRecord } from '../../src/store/store.ts';
import { SeededRandom } from '../sim/seeded-random.ts';
import { VirtualClock } from '../sim/virtual-clock.ts';

/** Of a node that has owned every shard always. */
export const ALL_OURS: Ownership = {
  mayStart: () => true,
  isAlive: () => true,
  ownedSince: () => Number.NEGATIVE_INFINITY,
  ownedShards: () => undefined,
};

const SUCCESS: Omit<AttemptResult, 'startedAt'> = {
  outcome: 'succeeded',
  durationMs: 1,
  responseCode: 200,
  responseHeaders: [],
  responseBody: null,
  responseBodyTruncated: false,
  error: null,
  retryAfterAt: null,
};

/** An environment; all others are live. */
export const TEST = 2;

type Request = { destinationId: DestinationId; end: (result?: Partial<AttemptResult>) => void };
type HeldBatch = { results: ResultToRecord[]; answer: (outcome?: RecordOutcome) => void };

export async function startDispatching(options: {
  destinationOf: (id: DestinationId) => DestinationWithKeys | undefined;
  ownership?: Ownership;
  slots: number;
}) {
  const { destinationOf, ownership = ALL_OURS, slots } = options;
  const clock = new VirtualClock();
  const random = new SeededRandom(1);
  /** Unfinished deliveries that are only in the store. */
  const stored: OpenDelivery[] = [];
  const destinations = new Map<DeliveryId, DestinationId>();
  const onWire = new Map<DeliveryId, Request>();
  const sentAt: number[] = [];
  const sent: DeliveryId[] = [];
  const storing: HeldBatch[] = [];
  const payloadReads: EventPayload['id'][] = [];
  const store = {
    sweep: async () => {
      const found = stored.map(({ destinationId, dueAt }) => ({ destinationId, dueAt }));
      return { destinations: found.slice(0, 1), next: null };
    },
    refill: async (requests: { destinationId: DestinationId; exclude: DeliveryId[] }[]) =>
      requests.map(({ destinationId, exclude }) => {
        const deliveries = stored.filter(({ id }) => !exclude.includes(id));
        for (const { id } of deliveries) destinations.set(id, destinationId);
        return { destinationId, deliveries, nextDueAt: null };
      }),
    readHealth: async () => [],
    readPayloads: async (ids: EventPayload['id'][]): Promise<EventPayload[]> => {
      payloadReads.push(...ids);
      return ids.map((id) => ({ id, type: 'a.b', occurredAt: 0, traceparent: null, body: new Uint8Array() }));
    },
    recordResults: ({ results }: { results: ResultToRecord[] }) =>
      new Promise<{ outcomes: RecordOutcome[]; paused: DestinationId[] }>((resolve) => {
        const answer = (outcome: RecordOutcome = { result: 'recorded' }): void =>
          resolve({ outcomes: results.map(() => outcome), paused: [] });
        storing.push({ results, answer });
      }),
  };
  const recorder = new Recorder({
    store,
    clock,
    random,
    onPaused: () => undefined,
    onTrouble: (error) => assert.fail(String(error)),
    onRecovered: () => undefined,
  });
  const payloads = new Payloads(store, 1_000_000);
  const pipeline = new AttemptPipeline({
    perform: ({ deliveryId }, abort) =>
      new Promise((resolve) => {
        const id = deliveryId as DeliveryId;
        const end = (result: Partial<AttemptResult> = {}): void => {
          onWire.delete(id);
          resolve({ ...SUCCESS, startedAt: clock.now(), ...result });
        };
        sentAt.push(clock.monotonic());
        sent.push(id);
        onWire.set(id, { destinationId: destinations.get(id)!, end });
        abort!.addEventListener('abort', () => end({ outcome: 'cancelled' }));
      }),
    recorder,
    payloads,
    ownership,
    clock,
    clockTrust: createClockTrust(clock, () => undefined),
    bodyRetentionMs: Number.MAX_SAFE_INTEGER,
    failingAfterMs: 0,
    observer: observeAll([]),
  });
  const dispatcher = new Dispatcher({
    store,
    clock,
    payloads,
    pipeline,
    ownership,
    destinationOf,
    modeOf: (environment) => (environment === TEST ? 'test' : 'live'),
    slots,
    onError: (error) => assert.fail(String(error)),
  });
  await clock.runFor(dispatcher.start());
  const offer = (deliveries: OpenDelivery[]): void => {
    for (const { id, destinationId } of deliveries) destinations.set(id, destinationId);
    const eventId = deliveries[0]!.eventId;
    const made = { occurredAt: 0, createdAt: 0, traceparent: null };
    const event = { id: eventId, environment: 1, type: 'a.b', idempotencyKey: null, ...made };
    dispatcher.offer(deliveries, event, new Uint8Array());
  };
  return { clock, dispatcher, stored, onWire, sentAt, sent, storing, payloadReads, offer };
}
