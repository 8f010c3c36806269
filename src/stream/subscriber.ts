// One open stream: a place in its environment's ring, and an answer that takes what follows as fast as it is read.
import { Readable } from 'node:stream';
import { COMMENT, formatGap, matches } from './message.ts';
import type { StreamFilter } from './message.ts';
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
const CHUNK_BYTES = 32_768;
/** One look passes at most so many that the filter does not want. */
const LOOKED_AT_MAX = 1_000;
const COMMENT_INTERVAL_MS = 15_000;

export class Subscriber {
  readonly answer: Readable;
  readonly subscription: Subscription;
  readonly #ring: Ring;
  /** Of the next message to look at. */
  #place: number;
  /** Messages for it that the ring has dropped. null: nobody knows how many. */
  #missed: number | null;
  #isWanted = false;
  #isOver = false;
  #commentedAt: number;

  constructor(
    subscription: Subscription,
    ring: Ring,
    events: { now: number; onWanted: () => void; onEnd: (one: Subscriber) => void },
  ) {
    this.subscription = subscription;
    this.#ring = ring;
    const { lastId } = subscription;
    const resumedAt = lastId === null ? ring.next : ring.placeAfter(lastId);
    this.#place = resumedAt ?? ring.first;
    this.#missed = resumedAt === null ? null : 0;
    this.#commentedAt = events.now;
    this.answer = new Readable({
      highWaterMark: CHUNK_BYTES,
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

  /** Hands on what there is, as far as it is wanted, a chunk at most. */
  pump(): void {
    if (!this.hasMore) return;
    const pieces: Buffer[] = [];
    let length = 0;
    const add = (bytes: Buffer): void => {
      pieces.push(bytes);
      length += bytes.length;
    };
    if (this.#missed !== 0) add(formatGap({ id: this.#ring.lastDropped, missed: this.#missed }));
    this.#missed = 0;
    const end = Math.min(this.#ring.next, this.#place + LOOKED_AT_MAX);
    const { filter, withBodies } = this.subscription;
    for (; this.#place < end && length < CHUNK_BYTES; this.#place++) {
      const entry = this.#ring.at(this.#place);
      if (entry.subject !== null && !matches(filter, entry.subject)) continue;
      add(withBodies ? entry.bytesWithBody : entry.bytes);
    }
    if (length > 0) this.#push(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces, length));
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
