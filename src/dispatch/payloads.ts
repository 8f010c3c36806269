// What is sent: the event's envelope around its body, byte for byte. Made once for all of an event's deliveries,
// kept in a cache with a byte budget, and read from the store again when it has gone from there.
import { formatTime } from '../model/time.ts';
import type { EventId } from '../model/id.ts';
import type { EventPayload, Store } from '../store/store.ts';

export interface Payloads {
  put(event: Omit<EventPayload, 'body'>, body: Uint8Array): void;
  /** At once if it is in memory; null: its body has been erased. */
  get(id: EventId): Uint8Array | Promise<Uint8Array | null>;
}

const READ_EVENTS_MAX = 64;

export function createPayloads(store: Pick<Store, 'readPayloads'>, budgetBytes: number): Payloads {
  // A Map keeps insertion order, so its first key is the oldest.
  const cache = new Map<EventId, Uint8Array>();
  let cachedBytes = 0;
  const wanted = new Map<EventId, PromiseWithResolvers<Uint8Array | null>>();
  let isReading = false;

  const keep = (id: EventId, payload: Uint8Array): void => {
    if (cache.has(id) || payload.length > budgetBytes) return;
    cache.set(id, payload);
    cachedBytes += payload.length;
    for (const [oldest, bytes] of cache) {
      if (cachedBytes <= budgetBytes) break;
      cache.delete(oldest);
      cachedBytes -= bytes.length;
    }
  };

  const readBatch = async (batch: [EventId, PromiseWithResolvers<Uint8Array | null>][]): Promise<void> => {
    try {
      const events = await store.readPayloads(batch.map(([id]) => id));
      const payloads = new Map(events.map((event) => [event.id, buildPayload(event, event.body)]));
      for (const [id, waiting] of batch) {
        const payload = payloads.get(id) ?? null;
        if (payload !== null) keep(id, payload);
        waiting.resolve(payload);
      }
    } catch (error) {
      for (const [, waiting] of batch) waiting.reject(error);
    }
  };

  /** Reads that are asked for while one is under way go together in the next. */
  const readWanted = async (): Promise<void> => {
    isReading = true;
    while (wanted.size > 0) {
      const batch = [...wanted].slice(0, READ_EVENTS_MAX);
      await readBatch(batch);
      for (const [id] of batch) wanted.delete(id);
    }
    isReading = false;
  };

  return {
    put: (event, body) => keep(event.id, buildPayload(event, body)),
    get(id) {
      const cached = cache.get(id);
      if (cached !== undefined) return cached;
      const waiting = wanted.get(id) ?? Promise.withResolvers<Uint8Array | null>();
      wanted.set(id, waiting);
      if (!isReading) queueMicrotask(() => !isReading && void readWanted());
      return waiting.promise;
    },
  };
}

/** `{"id","type","timestamp","data"}` (Standard Webhooks 1.0.0, payload structure), `data` as posted. */
export function buildPayload(event: Omit<EventPayload, 'body'>, body: Uint8Array): Uint8Array {
  // Ids, types and times hold no character that JSON escapes.
  const head = `{"id":"${event.id}","type":"${event.type}","timestamp":"${formatTime(event.occurredAt)}","data":`;
  const payload = Buffer.allocUnsafe(head.length + body.length + 1);
  payload.write(head, 0, 'latin1');
  payload.set(body, head.length);
  payload[payload.length - 1] = 0x7d;
  return payload;
}
