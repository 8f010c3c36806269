// How far this machine's clock is from the store's, whose time is everybody's.
import type { Clock } from '../runtime/clock.ts';
import type { ClusterStore } from '../store/cluster-store.ts';

/** Clocks that differ by less matter nowhere. */
const OFFSET_IGNORED_MS = 1_000;

/** Milliseconds to add to this machine's time. */
export async function measureOffset(store: Pick<ClusterStore, 'readCluster'>, clock: Clock): Promise<number> {
  const sentAt = { now: clock.now(), monotonic: clock.monotonic() };
  const { now } = await store.readCluster();
  return offsetOf(now, sentAt, clock.monotonic());
}

/** `storeNow`: read at some moment between the two. */
export function offsetOf(storeNow: number, sentAt: { now: number; monotonic: number }, receivedAt: number): number {
  return storeNow - (sentAt.now + (receivedAt - sentAt.monotonic) / 2);
}

/** The correction of this machine's clock; 0: it is near enough. */
export function correctionOf(offsetMs: number): number {
  return Math.abs(offsetMs) <= OFFSET_IGNORED_MS ? 0 : Math.round(offsetMs);
}

/** Whether another correction than the one in force is called for. */
export function isCorrected(offsetMs: number, correctionMs: number): boolean {
  return Math.abs(offsetMs - correctionMs) <= OFFSET_IGNORED_MS;
}
