// How long this node may believe that it is alive. It stops well before others may take its shards, counted from
// before the renewal was sent, and by both clocks: one stands still while a machine sleeps, the other may be set.
import type { Clock, Instant } from '../runtime/clock.ts';

/** The other 30 % are for requests that went out just before the end, and for clocks of different speeds. */
const FENCE_AT = 0.7;

export type Lease = ReturnType<typeof createLease>;

export function createLease(clock: Clock, leaseMs: number) {
  const heldMs = leaseMs * FENCE_AT;
  let renewedAt: Instant | null = null;
  return {
    /** The store has confirmed that this node lives; `sentAt`: from before the store was asked. */
    renew(sentAt: Instant): void {
      renewedAt = sentAt;
    },
    /** The store says that this node was given up. */
    lose(): void {
      renewedAt = null;
    },
    /** Checked before every send. */
    isHeld(): boolean {
      if (renewedAt === null || clock.monotonic() - renewedAt.monotonic >= heldMs) return false;
      // The wall clock counts however it moved: set back, it says nothing about how long we slept.
      return Math.abs(clock.now() - renewedAt.now) < heldMs;
    },
  };
}
