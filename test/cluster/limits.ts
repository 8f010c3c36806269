// What a destination's limits promise, held against what was seen: exact while shards stay or move gracefully; around a
// forced takeover more by what the old owner had on the wire and one burst, and no more.
import assert from 'node:assert/strict';
import type { Receiver, Received } from '../e2e/receiver.ts';
import type { Service } from '../e2e/service.ts';

/** Unix ms. */
export type Span = { from: number; to: number };

/** How often several requests were under way at once at the paths that are watched, as the receiver saw it. */
export class OnWire {
  readonly #open = new Map<string, Set<Received>>();
  readonly #seen: { path: string; at: number; beside: Received[] }[] = [];

  /** Call for each request as it arrives. */
  note(request: Received): void {
    const { path, at } = request;
    const open = this.#open.get(path) ?? new Set();
    this.#open.set(path, open);
    // That an answer is out is noticed here later than by its sender, who may send the next meanwhile.
    this.#seen.push({ path, at, beside: [...open].filter(({ answeredAt }) => answeredAt === null) });
    open.add(request);
    void request.closed.then(() => open.delete(request));
  }

  /** `forced`: around takeovers that were forced. Returns the most there were, then and otherwise. */
  assertWithin(paths: readonly string[], max: number, forced: readonly Span[]): { calm: number; forced: number } {
    const most = { calm: 0, forced: 0 };
    for (const { path, at, beside } of this.#seen) {
      if (!paths.includes(path)) continue;
      // One that its sender has given up may have been so before the next was sent: the receiver hears of it later.
      const count = 1 + beside.filter((other) => !other.isGivenUp).length;
      const when = isWithin(forced, at) ? 'forced' : 'calm';
      most[when] = Math.max(most[when], count);
      const allowed = when === 'calm' ? max : 2 * max;
      assert.ok(count <= allowed, `${count} at once at ${path} at ${new Date(at).toISOString()} (${when})`);
    }
    return most;
  }
}

/** Starts are told in whole milliseconds, and the process may be put aside between taking a token and the clock. */
const LATE_MS = 20;

/**
 * The starts (Unix ms, in order) fit a bucket of `max(1, rate / 10)` tokens; after each forced takeover one more
 * bucket, and `onWire` that the old owner may have sent without being able to say so.
 */
export function assertRate(
  starts: readonly number[],
  limit: { rate: number; onWire: number; forced: readonly Span[]; name: string },
): { excess: number } {
  const { rate, onWire, forced, name } = limit;
  const burst = Math.max(1, rate / 10);
  const slack = (LATE_MS / 1_000) * rate;
  let tokens = burst;
  let countedAt = starts[0] ?? 0;
  let excess = 0;
  for (const at of starts) {
    tokens = Math.min(burst, tokens + ((at - countedAt) / 1_000) * rate) - 1;
    countedAt = at;
    if (tokens >= -slack) continue;
    const allowed = burst + onWire;
    const when = new Date(at).toISOString();
    assert.ok(isWithin(forced, at), `${name}: ${-tokens} above its rate at ${when}, with no takeover near`);
    assert.ok(-tokens <= allowed + slack, `${name}: ${-tokens} above its rate at ${when}, ${allowed} were allowed`);
    excess = Math.max(excess, -tokens);
    // Both owners kept to the rate: what they sent together is forgiven once.
    tokens = 0;
  }
  return { excess };
}

/**
 * Second successes of an event are due to something that was forced between them, or just before; or its sender had
 * given up the first, as one does that hands over a shard while a request has been on the wire for too long.
 */
export function assertDuplicates(receiver: Receiver, forced: readonly Span[]): void {
  const first = new Map<string, Received>();
  for (const request of receiver.requests) {
    if (request.status !== 200) continue;
    const earlier = first.get(request.eventId);
    if (earlier === undefined) {
      first.set(request.eventId, request);
      continue;
    }
    const isForced = forced.some(({ from, to }) => from <= request.at && to >= earlier.at);
    const isExplained = isForced || earlier.isGivenUp;
    assert.ok(isExplained, `${request.eventId} came twice, at ${earlier.at} and ${request.at}, with no takeover near`);
  }
}

/** After a takeover, or after the old owner woke up: until nothing of the old owner is on the wire or unsaid. */
export const AFTERMATH_MS = 3_000;

/** What the nodes themselves say of it: on a machine that is too busy one may be given up without our doing. */
export function removalsIn(nodes: readonly Service[], leaseMs: number): Span[] {
  const said = nodes.flatMap((node) => node.logEntries()).filter(({ msg }) => String(msg).startsWith('nodes removed'));
  return said.map(({ time }) => {
    const at = Date.parse(time as string);
    return { from: at - leaseMs - 1_000, to: at + AFTERMATH_MS };
  });
}

function isWithin(spans: readonly Span[], at: number): boolean {
  return spans.some(({ from, to }) => from <= at && at <= to);
}
