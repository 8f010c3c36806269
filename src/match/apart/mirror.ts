// A copy of some of a matcher's subscriptions on a thread of its own: those of the patterns that large events met. The
// thread is sent what it does not have, in pieces, and afterwards every change, so what it finds is what is found here.
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../runtime/clock.ts';
import type { Filter } from '../filter/filter.ts';
import type { MatchEntry, MatchScope } from '../matcher.ts';
import type { Explanation, MatchAnswer, Order } from './thread.ts';

/** Copying a test into a message takes some 3 µs, passing by a subscription 30 ns. */
const TESTS_PER_TURN = 300;
const PASSED_PER_TURN = 20_000;

type Answer = MatchAnswer | Explanation;

export class Mirror {
  readonly #clock: Clock;
  readonly #worker: Worker;
  readonly #patterns = new Set<string>();
  #asked: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | null = null;
  #end: Error | null = null;

  /** `onEnd`: the thread is gone, for whatever reason; another mirror has to be made. */
  constructor(clock: Clock, onEnd: (error: Error) => void) {
    this.#clock = clock;
    this.#worker = new Worker(new URL('./thread.ts', import.meta.url), { name: 'match' });
    // It never keeps a process alive: whoever waits for an answer has a connection open.
    this.#worker.unref();
    let cause: unknown;
    this.#worker.on('error', (error) => (cause = error));
    this.#worker.on('exit', (code) => {
      this.#end = new Error(`the thread that matches large events ended with exit code ${code}`, { cause });
      this.#asked?.reject(this.#end);
      onEnd(this.#end);
    });
    this.#worker.on('message', (answer: Answer) => {
      this.#asked?.resolve(answer);
      this.#asked = null;
    });
  }

  add(entry: MatchEntry): void {
    if (this.#patterns.has(entry.pattern)) this.#post({ do: 'add', entries: [entry] });
  }

  remove({ pattern, id }: MatchEntry): void {
    if (this.#patterns.has(pattern)) this.#post({ do: 'remove', id });
  }

  /** Sends those of the entries that have one of these patterns, unless they were sent before. */
  async include(patterns: readonly string[], entries: Iterable<MatchEntry>): Promise<void> {
    const missing = new Set(patterns.filter((pattern) => !this.#patterns.has(pattern)));
    // First, so that changes from now on are sent: an entry that comes twice replaces itself.
    for (const pattern of missing) this.#patterns.add(pattern);
    if (missing.size === 0) return;
    let piece: MatchEntry[] = [];
    let [tests, passed] = [0, 0];
    for (const entry of entries) {
      passed++;
      if (missing.has(entry.pattern)) {
        piece.push(entry);
        tests += entry.filter === null ? 1 : countTests(entry.filter);
      }
      if (tests < TESTS_PER_TURN && passed < PASSED_PER_TURN) continue;
      this.#post({ do: 'add', entries: piece });
      [piece, tests, passed] = [[], 0, 0];
      await new Promise<void>((resolve) => this.#clock.afterTurn(resolve));
    }
    this.#post({ do: 'add', entries: piece });
  }

  /** Matches an event against what the mirror has now. One question at a time. Rejects when the thread ends before. */
  match({ type, bytes, scope }: { type: string; bytes: Uint8Array; scope: MatchScope }): Promise<MatchAnswer> {
    return this.#ask<MatchAnswer>(bytes, (copy) => ({ do: 'match', type, bytes: copy, scope }));
  }

  /** The same, for why its subscriptions do or do not want an event. */
  explain({ type, bytes }: { type: string; bytes: Uint8Array }): Promise<Explanation> {
    return this.#ask<Explanation>(bytes, (copy) => ({ do: 'explain', type, bytes: copy }));
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  #ask<Asked extends Answer>(bytes: Uint8Array, toOrder: (copy: Uint8Array) => Order): Promise<Asked> {
    if (this.#end !== null) return Promise.reject(this.#end);
    return new Promise((resolve, reject) => {
      this.#asked = { resolve: (answer) => resolve(answer as Asked), reject };
      // A copy of its own, which moves: the bytes may be part of something larger, and are still needed here.
      const copy = new Uint8Array(bytes);
      this.#post(toOrder(copy), [copy.buffer]);
    });
  }

  #post(order: Order, transfer: ArrayBuffer[] = []): void {
    this.#worker.postMessage(order, transfer);
  }
}

function countTests(filter: Filter): number {
  switch (filter.operator) {
    case '$and':
    case '$or':
      return filter.parts.reduce((sum, part) => sum + countTests(part), 0);
    case '$not':
      return countTests(filter.part);
    case '$in':
    case '$nin':
      return 1 + filter.operand.size / 10;
    default:
      return 1;
  }
}
