// What is sent: the event's envelope around its body, byte for byte. Made once for all of an event's deliveries,
// kept in a cache with a byte budget, and read from the store again when it has gone from there.
import { formatTime } from '../model/time.ts';
import type { EventId } from '../model/id.ts';
import type { EventPayload, Store } from '../store/store.ts';

export interface Payloads {
  /** `uses`: how many more deliveries are about to get it; when that many are `done` it is kept no longer. */
  put(event: Omit<EventPayload, 'body'>, body: Uint8Array, uses: number): void;
  /** At once if it is in memory; null: its body has been erased. What had to be read is kept until it is `done`. */
  get(id: EventId): Uint8Array | Promise<Uint8Array | null>;
  /** A delivery needs it no more, or not soon. */
  done(id: EventId): void;
}

type Cached = { payload: Uint8Array; uses: number; wasRead: boolean };
type Reading = PromiseWithResolvers<Uint8Array | null> & { uses: number };

const READ_EVENTS_MAX = 64;

export function createPayloads(store: Pick<Store, 'readPayloads'>, budgetBytes: number): Payloads {
  // A Map keeps insertion order, so its first key is the oldest.
  const cache = new Map<EventId, Cached>();
  let cachedBytes = 0;
  const wanted = new Map<EventId, Reading>();
  let isReading = false;

  const drop = (id: EventId, payload: Uint8Array): void => {
    cache.delete(id);
    cachedBytes -= payload.length;
  };

  const keep = (id: EventId, entry: Cached): void => {
    if (cache.has(id) || entry.payload.length > budgetBytes) return;
    cache.set(id, entry);
    cachedBytes += entry.payload.length;
    while (cachedBytes > budgetBytes) {
      const [oldest] = cache;
      drop(oldest![0], oldest![1].payload);
    }
  };

  const readBatch = async (batch: [EventId, Reading][]): Promise<void> => {
    try {
      const events = await store.readPayloads(batch.map(([id]) => id));
      const payloads = new Map(events.map((event) => [event.id, buildPayload(event, event.body)]));
      for (const [id, waiting] of batch) {
        const payload = payloads.get(id) ?? null;
        if (payload !== null) keep(id, { payload, uses: waiting.uses, wasRead: true });
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
    put(event, body, uses) {
      if (!addUses(cache.get(event.id), uses))
        keep(event.id, { payload: buildPayload(event, body), uses, wasRead: false });
    },
    get(id) {
      const cached = cache.get(id);
      if (cached !== undefined) {
        if (cached.wasRead) cached.uses++;
        return cached.payload;
      }
      const waiting = wanted.get(id) ?? { ...Promise.withResolvers<Uint8Array | null>(), uses: 0 };
      waiting.uses++;
      wanted.set(id, waiting);
      if (!isReading) queueMicrotask(() => !isReading && void readWanted());
      return waiting.promise;
    },
    done(id) {
      const cached = cache.get(id);
      if (cached !== undefined && --cached.uses === 0) drop(id, cached.payload);
    },
  };
}

/** False: it is not in memory. What was read counts its uses as they come. */
function addUses(cached: Cached | undefined, uses: number): boolean {
  if (cached?.wasRead === false) cached.uses += uses;
  return cached !== undefined;
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
