// What is sent: the event's envelope around its body, byte for byte. Made once for all of an event's deliveries,
// kept in a cache with a byte budget, and read from the store again when it has gone from there.
import { formatTime } from '../model/time.ts';
import type { EventId } from '../model/id.ts';
import { LinkedMap } from '../runtime/linked-map.ts';
import type { EventPayload, Store } from '../store/store.ts';

/** What all attempts for one event send, and what is said of them. */
export type Payload = { readonly bytes: Uint8Array; readonly eventType: string; readonly traceparent: string | null };
type Cached = Payload & { readonly id: EventId; uses: number; wasRead: boolean };
type Reading = PromiseWithResolvers<Payload | null> & { uses: number };

const READ_EVENTS_MAX = 64;
/** Small ones take more memory by being entries than by their bytes. */
const CACHED_MAX = 100_000;

export class Payloads {
  readonly #store: Pick<Store, 'readPayloads'>;
  readonly #budgetBytes: number;
  readonly #cache = new LinkedMap<EventId, Cached>();
  #cachedBytes = 0;
  readonly #wanted = new Map<EventId, Reading>();
  #isReading = false;

  constructor(store: Pick<Store, 'readPayloads'>, budgetBytes: number) {
    this.#store = store;
    this.#budgetBytes = budgetBytes;
  }

  /**
   * `uses`: how many more deliveries are about to get it; when that many are `done` it is kept no longer. `mayStay`:
   * perhaps not soon. Then it has memory of its own: as a part of Node's pool a small one would keep 64 KiB.
   */
  put(
    event: Omit<EventPayload, 'body'>,
    body: Uint8Array,
    { uses, mayStay }: { uses: number; mayStay: boolean },
  ): void {
    const cached = this.#cache.get(event.id);
    if (cached === undefined) this.#keep({ ...toPayload(event, body, mayStay), id: event.id, uses, wasRead: false });
    // What was read counts its uses as they come.
    else if (!cached.wasRead) cached.uses += uses;
  }

  /** At once if it is in memory; null: its body has been erased. What had to be read is kept until it is `done`. */
  get(id: EventId): Payload | Promise<Payload | null> {
    const cached = this.#cache.get(id);
    if (cached !== undefined) {
      if (cached.wasRead) cached.uses++;
      return cached;
    }
    const reading = this.#wanted.get(id) ?? { ...Promise.withResolvers<Payload | null>(), uses: 0 };
    reading.uses++;
    this.#wanted.set(id, reading);
    if (!this.#isReading) queueMicrotask(() => void this.#readWanted());
    return reading.promise;
  }

  /** A delivery needs it no more, or not soon. */
  done(id: EventId): void {
    const cached = this.#cache.get(id);
    if (cached !== undefined && --cached.uses === 0) this.#drop(cached);
  }

  #keep(entry: Cached): void {
    if (this.#cache.has(entry.id) || entry.bytes.length > this.#budgetBytes) return;
    this.#cache.set(entry.id, entry);
    this.#cachedBytes += entry.bytes.length;
    while (this.#cachedBytes > this.#budgetBytes || this.#cache.size > CACHED_MAX) this.#drop(this.#cache.oldest()!);
  }

  #drop({ id, bytes }: Cached): void {
    this.#cache.delete(id);
    this.#cachedBytes -= bytes.length;
  }

  /** Reads that are asked for while one is under way go together in the next. */
  async #readWanted(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    while (this.#wanted.size > 0) {
      const batch = [...this.#wanted].slice(0, READ_EVENTS_MAX);
      await this.#readBatch(batch);
      for (const [id] of batch) this.#wanted.delete(id);
    }
    this.#isReading = false;
  }

  async #readBatch(batch: [EventId, Reading][]): Promise<void> {
    try {
      const events = await this.#store.readPayloads(batch.map(([id]) => id));
      const payloads = new Map(events.map((event) => [event.id, toPayload(event, event.body)]));
      for (const [id, reading] of batch) {
        const payload = payloads.get(id) ?? null;
        if (payload !== null) this.#keep({ ...payload, id, uses: reading.uses, wasRead: true });
        reading.resolve(payload);
      }
    } catch (error) {
      for (const [, reading] of batch) reading.reject(error);
    }
  }
}

function toPayload(event: Omit<EventPayload, 'body'>, body: Uint8Array, mayStay = false): Payload {
  return { bytes: buildPayload(event, body, mayStay), eventType: event.type, traceparent: event.traceparent };
}

/** `{"id","type","timestamp","data"}` (Standard Webhooks 1.0.0, payload structure), `data` as posted. */
export function buildPayload(event: Omit<EventPayload, 'body'>, body: Uint8Array, mayStay = false): Uint8Array {
  // Ids, types and times hold no character that JSON escapes.
  const head = `{"id":"${event.id}","type":"${event.type}","timestamp":"${formatTime(event.occurredAt)}","data":`;
  const bytes = head.length + body.length + 1;
  const payload = mayStay ? Buffer.allocUnsafeSlow(bytes) : Buffer.allocUnsafe(bytes);
  payload.write(head, 0, 'latin1');
  payload.set(body, head.length);
  payload[payload.length - 1] = 0x7d;
  return payload;
}
