// Which destinations this node may send to. Only the owner of a destination's shard starts attempts, so claiming
// a delivery costs no write and per-destination limits are exact.
import type { DestinationId } from '../model/id.ts';

export interface Ownership {
  /** Checked before every send: the shard is ours and our lease has not run out. */
  mayStart(destinationId: DestinationId): boolean;
}

/** The embedded store admits one server at a time (its lock is held for life), so that server owns every shard. */
export const soleOwnership: Ownership = {
  mayStart: () => true,
};
