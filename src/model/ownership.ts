// Which destinations this node may send to. Only the owner of a destination's shard starts attempts, so claiming
// a delivery costs no write and per-destination limits are exact.
import type { DestinationId } from './id.ts';

export type Ownership = {
  /** Checked before every send: the shard is ours and our lease has not run out. */
  mayStart(destinationId: DestinationId): boolean;
  /** Our lease has not run out. While it has, what is ours waits: it may be renewed, or the shards be lost. */
  isAlive(): boolean;
  /** Monotonic ms since when the shard is ours; null: it is not. A shard that was always ours: minus infinity. */
  ownedSince(shard: number): number | null;
  /** The shards that are ours; undefined: all there are. */
  ownedShards(): readonly number[] | undefined;
};
