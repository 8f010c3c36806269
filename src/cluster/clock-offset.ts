// How far this machine's clock is from the store's, whose time is everybody's.
import { instantOf, type Clock, type Instant } from '../runtime/clock.ts';
import type { ClusterStore } from '../store/cluster-store.ts';

/** `ms`: to be added to this machine's time `at` a moment; too little or too much by as much as `uncertainMs`. */
export type Offset = { at: Instant; ms: number; uncertainMs: number };

/** Clocks that differ by less matter nowhere. */
const OFFSET_IGNORED_MS = 1_000;

/** Looks at a clock that must be corrected: the quickest answer says most, and what it says stays in force. */
const LOOKS_MAX = 5;
const CERTAIN_MS = 2;

export async function measureOffset(store: Pick<ClusterStore, 'readCluster'>, clock: Clock): Promise<Offset> {
  let best = await lookAtOffset(store, clock);
  for (let looks = 1; looks < LOOKS_MAX && best.uncertainMs > CERTAIN_MS && !isCorrected(best, 0); looks++) {
    const offset = await lookAtOffset(store, clock);
    if (offset.uncertainMs < best.uncertainMs) best = offset;
  }
  return best;
}

async function lookAtOffset(store: Pick<ClusterStore, 'readCluster'>, clock: Clock): Promise<Offset> {
  const sentAt = instantOf(clock);
  const { now } = await store.readCluster();
  return offsetOf(now, sentAt, clock.monotonic());
}

/**
 * `storeNow`: read at some moment between the two. Of an answer that took seconds (the database was made to wait, or
 * waited for) nobody knows at which.
 */
export function offsetOf(storeNow: number, sentAt: Instant, receivedAt: number): Offset {
  const uncertainMs = (receivedAt - sentAt.monotonic) / 2;
  return { at: sentAt, ms: storeNow - (sentAt.now + uncertainMs), uncertainMs };
}

/** The correction of this machine's clock; 0: it is near enough, or may be. */
export function correctionOf(offset: Offset): number {
  return isCorrected(offset, 0) ? 0 : Math.round(offset.ms);
}

/** False: another correction than the one in force is called for, whenever the store read its clock. */
export function isCorrected({ ms, uncertainMs }: Offset, correctionMs: number): boolean {
  return Math.abs(ms - correctionMs) <= OFFSET_IGNORED_MS + uncertainMs;
}
