// The requests under way on one connection, in their order, which is that of the answers as well.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';

/** Worked on at once; what the connection sends beyond them waits unread. */
const PIPELINED_MAX = 16;

export type Exchange = {
  request: IncomingMessage;
  response: ServerResponse;
  /** Charged to the connection. */
  bytes: number;
  /** Null: the work on it has not begun. */
  reply: FastifyReply | null;
  /** Begins the work on it; null: that has been done. */
  start: (() => void) | null;
  /** Goes on with the work when it is the first; null: nothing waits for that. */
  goOn: (() => void) | null;
};

/** Each goes when it is answered: a reply holds what its answer was made of, and connections may be idle for hours. */
export class Exchanges {
  readonly #underWay: Exchange[] = [];
  #hadLast = false;

  get areNone(): boolean {
    return this.#underWay.length === 0;
  }

  get newest(): Exchange | undefined {
    return this.#underWay.at(-1);
  }

  get mayBegin(): boolean {
    return this.#underWay.length < PIPELINED_MAX;
  }

  /** An answer says that it is the connection's last. */
  get haveLast(): boolean {
    return this.#hadLast || this.#underWay.some(isLast);
  }

  /** Of the latest whose work has begun. */
  get latestReply(): FastifyReply | null {
    return this.#underWay.findLast(({ reply }) => reply !== null)?.reply ?? null;
  }

  /** Undefined once it is answered. */
  of(response: ServerResponse): Exchange | undefined {
    return this.#underWay.find((exchange) => exchange.response === response);
  }

  add(exchange: Exchange): void {
    this.#underWay.push(exchange);
  }

  /** Calls back, at most once, when the answers before this one have been written. */
  whenFirst(response: ServerResponse, callback: () => void): void {
    const exchange = this.of(response);
    if (exchange === undefined || exchange === this.#underWay[0]) callback();
    else exchange.goOn = callback;
  }

  /** Once it is answered. False: the connection ended before. */
  remove(exchange: Exchange): boolean {
    const at = this.#underWay.indexOf(exchange);
    if (at === -1) return false;
    this.#underWay.splice(at, 1);
    this.#hadLast ||= isLast(exchange);
    return true;
  }

  /** What waited for the end of one of them. */
  goOn(): void {
    const next = this.#underWay[PIPELINED_MAX - 1];
    if (next !== undefined) startWork(next);
    const [first] = this.#underWay;
    const goOn = first?.goOn;
    if (first !== undefined) first.goOn = null;
    goOn?.();
  }

  /** Removes all. */
  take(): Exchange[] {
    return this.#underWay.splice(0);
  }
}

export function startWork(exchange: Exchange): void {
  const { start } = exchange;
  exchange.start = null;
  start?.();
}

function isLast({ reply }: Exchange): boolean {
  return reply?.getHeader('connection') === 'close';
}
