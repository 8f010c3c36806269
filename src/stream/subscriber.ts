// One open stream: a place in its environment's ring, and an answer that takes what follows as fast as it is read.
import { Readable } from 'node:stream';
import { COMMENT, formatGap, matches, type StreamFilter } from './message.ts';
import type { Entry, Ring } from './ring.ts';

export type Subscription = {
  environment: number;
  filter: StreamFilter;
  withBodies: boolean;
  /** Where an earlier stream ended; null: from now on. */
  lastId: string | null;
  /** Asked twice a second: whether the key is still good. */
  mayGoOn: () => boolean;
};

/** Messages go out together, as much as this at a time. */
const CHUNK_BYTES = 65_536;
/** One look passes at most so many that the filter does not want. */
const LOOKED_AT_MAX = 1_000;
const COMMENT_INTERVAL_MS = 15_000;

/** What streams with the same view get at one place of the ring: made once for all of them. By both. */
export type Chunks = Map<string, Chunk>;
type Chunk = { bytes: Buffer; end: number };

export class Subscriber {
  readonly answer: Readable;
  readonly subscription: Subscription;
  readonly #ring: Ring;
  /** Equal for streams that are to show the same. */
  readonly #view: string;
  /** Of the next message to look at. */
  #place: number;
  /** Messages for it that the ring has dropped. null: nobody knows how many. */
  #missed: number | null;
  #isWanted = false;
  #isOver = false;
  /** When what there is may go out, however little: monotonic ms. */
  #dueAt = Number.NEGATIVE_INFINITY;
  #commentedAt: number;

  constructor(
    subscription: Subscription,
    ring: Ring,
    events: { now: number; onWanted: () => void; onEnd: (one: Subscriber) => void },
  ) {
    this.subscription = subscription;
    this.#ring = ring;
    const { lastId, filter, withBodies } = subscription;
    this.#view = JSON.stringify([[...filter.kinds].sort(), { ...filter, kinds: null }, withBodies]);
    const resumedAt = lastId === null ? ring.next : ring.placeAfter(lastId);
    this.#place = resumedAt ?? ring.first;
    this.#missed = resumedAt === null ? null : 0;
    this.#commentedAt = events.now;
    this.answer = new Readable({
      // The next chunk is wanted when the last one has been taken: there is one at a time.
      highWaterMark: 1,
      read: () => {
        this.#isWanted = true;
        events.onWanted();
      },
      destroy: (error, done) => {
        events.onEnd(this);
        done(error);
      },
    });
    // At once, so that whoever asked knows that it is open.
    this.answer.push(COMMENT);
  }

  get hasMore(): boolean {
    return this.#isWanted && !this.#isOver && (this.#missed !== 0 || this.#place < this.#ring.next);
  }

  /** The ring is about to drop this: then it is lost for who has not come so far. */
  noteDropped(entry: Entry, place: number): void {
    if (place < this.#place) return;
    this.#place = place + 1;
    if (this.#missed === null) return;
    if (entry.subject === null || matches(this.subscription.filter, entry.subject)) this.#missed++;
  }

  /** Monotonic ms from when on there is something to hand on; infinite: there is not. */
  get dueAt(): number {
    return this.hasMore ? this.#dueAt : Number.POSITIVE_INFINITY;
  }

  /** Hands on what there is, as far as it is wanted, a chunk at most. `chunks`: made at this state of the ring. */
  pump(chunks: Chunks): void {
    if (!this.hasMore) return;
    if (this.#missed !== 0) this.#push(formatGap({ id: this.#ring.lastDropped, missed: this.#missed }));
    this.#missed = 0;
    const key = `${this.#place} ${this.#view}`;
    const chunk = chunks.getOrInsertComputed(key, () => this.#makeChunk());
    this.#place = chunk.end;
    if (chunk.bytes.length > 0) this.#push(chunk.bytes);
  }

  /** What comes is to gather until then; what there is already is not held back. Monotonic ms. */
  gatherUntil(at: number): void {
    if (this.#place === this.#ring.next) this.#dueAt = at;
  }

  #makeChunk(): Chunk {
    const pieces: Buffer[] = [];
    let length = 0;
    let place = this.#place;
    const end = Math.min(this.#ring.next, place + LOOKED_AT_MAX);
    const { filter, withBodies } = this.subscription;
    for (; place < end && length < CHUNK_BYTES; place++) {
      const entry = this.#ring.at(place);
      if (entry.subject !== null && !matches(filter, entry.subject)) continue;
      const bytes = withBodies ? entry.bytesWithBody : entry.bytes;
      pieces.push(bytes);
      length += bytes.length;
    }
    return { bytes: pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces, length), end: place };
  }

  /** Comments show both sides that the other is there. Who does not read gets none: they would pile up. */
  comment(now: number): void {
    if (now - this.#commentedAt < COMMENT_INTERVAL_MS) return;
    this.#commentedAt = now;
    if (this.#isWanted && !this.#isOver) this.#push(COMMENT);
  }

  /** At once, and in good order if its reader keeps up. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#isWanted) this.answer.push(null);
    else this.answer.destroy();
  }

  #push(bytes: Buffer): void {
    this.#isWanted = this.answer.push(bytes);
  }
}
