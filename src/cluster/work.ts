// What a node does with its shards, handed in by whoever puts the service together: this folder knows when, not how.
import type { DueWork } from '../model/delivery.ts';

export interface ShardWork {
  /**
   * Loads what its owner must know of these shards: configuration first, then the troubles of destinations. Calls `own`
   * just before they count as ours.
   */
  load(shards: ReadonlySet<number>, own: () => void): Promise<void>;
  /** Looks for unfinished work in these shards. */
  sweep(shards: readonly number[]): Promise<void>;
  /** Stops sending at once. Resolves when nothing is on the wire, aborted after `graceMs`, and all is recorded. */
  release(shards: ReadonlySet<number>, graceMs: number): Promise<void>;
  /** Shards with something on the wire, or results that are not stored yet. */
  busyShards(): Set<number>;
  /** Destinations of ours that have work in the store. False: some are not known here yet. */
  wake(due: readonly DueWork[]): boolean;
  /** Attempts may start again. */
  resume(): void;
  environments(): readonly number[];
  /** Resolves with the version of the configuration that is in force here, with all that was committed before. */
  catchUp(environment: number): Promise<number>;
}
