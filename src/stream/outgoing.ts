// Leaves an environment's messages in the store for other nodes, in batches: at once when nothing was left for a while,
// else together. What waits is bounded; what does not fit is counted as lost.
import { delay, type Clock, type Timer } from '../runtime/clock.ts';
import type { Message } from './message.ts';

const INTERVAL_MS = 50;
/** Parsing a batch takes a few milliseconds. */
const BATCH_CHARACTERS_MAX = 512 * 1024;
const WAITING_CHARACTERS_MAX = 16 * BATCH_CHARACTERS_MAX;

export type Batch = { number: number; lost: number; text: string };

export class Outgoing {
  /**
   * Of the last batch that was written. One that failed leaves a hole, by which readers know that they lost something;
   * one under way is not counted yet: who looked for it would not find it, and take it for lost.
   */
  number = -1;
  readonly #clock: Clock;
  /** Never rejects. */
  readonly #write: (batch: Batch) => Promise<void>;
  #texts: string[] = [];
  #characters = 0;
  #lost = 0;
  #isBusy = false;
  #written: Promise<void> = Promise.resolve();

  constructor(clock: Clock, write: (batch: Batch) => Promise<void>) {
    this.#clock = clock;
    this.#write = write;
  }

  add(messages: readonly Message[], lost: number): void {
    this.#lost += lost;
    for (const message of messages) {
      if (this.#characters > WAITING_CHARACTERS_MAX) {
        this.#lost++;
        continue;
      }
      const text = encodeMessage(message);
      this.#texts.push(text);
      this.#characters += text.length;
    }
    if (!this.#isBusy) this.#written = this.#writeAll();
  }

  /** Resolves when nothing waits any more. */
  idle(): Promise<void> {
    return this.#written;
  }

  async #writeAll(): Promise<void> {
    this.#isBusy = true;
    while (this.#texts.length > 0 || this.#lost > 0) {
      const number = this.number + 1;
      await this.#write({ number, ...this.#take() });
      this.number = number;
      await delay(this.#clock, this.#isMuch() ? 0 : INTERVAL_MS);
    }
    this.#isBusy = false;
  }

  #isMuch(): boolean {
    return this.#characters > BATCH_CHARACTERS_MAX;
  }

  #take(): Omit<Batch, 'number'> {
    let count = 0;
    let characters = 0;
    while (count < this.#texts.length && characters < BATCH_CHARACTERS_MAX) characters += this.#texts[count++]!.length;
    const text = `[${this.#texts.slice(0, count).join(',')}]`;
    const lost = this.#lost;
    this.#texts = this.#texts.slice(count);
    this.#characters -= characters;
    this.#lost = 0;
    return { lost, text };
  }
}

// What was left long ago is nobody's any more. It is dropped while this node leaves batches, and a while longer, so
// that the last of them go too.

const DROP_INTERVAL_MS = 10_000;
/** After the last batch: by then it is old enough to be dropped. */
const DROP_FOR_MS = 80_000;

type DroppingOptions = { clock: Clock; drop: () => Promise<void>; onError: (error: unknown) => void };

export class Dropping {
  readonly #options: DroppingOptions;
  #timer: Timer | null = null;
  #lastAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(options: DroppingOptions) {
    this.#options = options;
  }

  /** A batch was left, or would have been. */
  noteBatch(): void {
    this.#lastAt = this.#options.clock.monotonic();
    this.#later();
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  #later(): void {
    const { clock, drop, onError } = this.#options;
    if (this.#timer !== null || this.#isClosed) return;
    this.#timer = clock.setTimer(() => {
      this.#timer = null;
      void drop().catch(onError);
      if (clock.monotonic() - this.#lastAt < DROP_FOR_MS) this.#later();
    }, DROP_INTERVAL_MS);
  }
}

function encodeMessage({ destinations, ...message }: Message): string {
  return JSON.stringify({
    ...message,
    destinations: typeof destinations === 'string' ? destinations : [...destinations],
  });
}

export function parseBatch(text: string): Message[] {
  const messages = JSON.parse(text) as (Omit<Message, 'destinations'> & { destinations: string | string[] })[];
  return messages.map(({ destinations, ...message }) => {
    return { ...message, destinations: typeof destinations === 'string' ? destinations : new Set(destinations) };
  });
}
