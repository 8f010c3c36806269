// The shards that this node owns, as far as it knows. A shard comes in three steps: the store gives it to this node,
// what its owner must know is loaded, sending begins. It goes by the same steps backwards.
import { ALL_SHARDS, type NodeId } from '../model/id.ts';
import { delay, type Clock } from '../runtime/clock.ts';
import type { ClusterStore } from '../store/cluster-store.ts';
import type { ShardWork } from './work.ts';

const RETRY_DELAY_MS = 250;
/** After a sweep that was asked for, the next one waits this many times as long as that took. */
const SWEEP_PAUSE_FACTOR = 4;
const SWEEP_PAUSE_MIN_MS = 100;

type OwnedShardsOptions = {
  id: NodeId;
  store: Pick<ClusterStore, 'freeShards'>;
  clock: Clock;
  work: ShardWork;
  /** Shards were loaded, or given away. */
  onGained: (count: number) => Promise<void>;
  onReleased: (count: number) => void;
  onError: (error: unknown) => void;
};

export class OwnedShards {
  /** Monotonic ms since when this node sends to a shard; null: what the shard's owner must know is being loaded. */
  readonly #owned = new Map<number, number | null>();
  readonly #giving = new Set<number>();
  readonly #toSweep = new Set<number>();
  readonly #options: OwnedShardsOptions;
  #isSweeping = false;
  /** Raised when the lease is lost, and every shard with it: loads and hand-overs of an earlier term have no effect. */
  #term = 0;
  /** Raised whenever shards have been given away: a view of the store that was read before still has them here. */
  #version = 0;

  constructor(options: OwnedShardsOptions) {
    this.#options = options;
  }

  since(shard: number): number | null {
    return this.#giving.has(shard) ? null : (this.#owned.get(shard) ?? null);
  }

  /** The shards that this node sends to. */
  list(): number[] {
    return ALL_SHARDS.filter((shard) => this.since(shard) !== null);
  }

  get giving(): ReadonlySet<number> {
    return this.#giving;
  }

  get version(): number {
    return this.#version;
  }

  /**
   * The store's word on who owns what, no older than `version`: shards that are new here are loaded, others dropped.
   */
  reconcile(isOurs: (shard: number) => boolean, version: number): void {
    if (version !== this.#version) return;
    const settled = ALL_SHARDS.filter((shard) => !this.#giving.has(shard));
    const gained = settled.filter((shard) => isOurs(shard) && !this.#owned.has(shard));
    const lost = settled.filter((shard) => !isOurs(shard) && this.#owned.has(shard));
    if (lost.length > 0) this.#drop(lost);
    if (gained.length > 0) this.gain(gained);
  }

  /** The store has given these shards to this node. */
  gain(shards: readonly number[]): void {
    for (const shard of shards) this.#owned.set(shard, null);
    void this.#load(shards);
  }

  /** The lease is lost, and everything with it. */
  loseAll(): void {
    this.#term++;
    this.#version++;
    this.#giving.clear();
    this.#toSweep.clear();
    this.#owned.clear();
    void this.#options.work.release(new Set(ALL_SHARDS), 0).catch(this.#options.onError);
  }

  /** Hands shards over: sends no more, waits for the requests on the wire, then frees the shards in the store. */
  async give(shards: readonly number[], graceMs: number): Promise<void> {
    if (shards.length === 0) return;
    const { id, store, work, clock, onReleased, onError } = this.#options;
    const term = this.#term;
    for (const shard of shards) this.#giving.add(shard);
    await work.release(new Set(shards), graceMs);
    while (term === this.#term) {
      try {
        await store.freeShards({ node: id, shards });
        break;
      } catch (error) {
        onError(error);
        await delay(clock, RETRY_DELAY_MS);
      }
    }
    if (term !== this.#term) return;
    for (const shard of shards) {
      this.#giving.delete(shard);
      this.#owned.delete(shard);
    }
    this.#version++;
    onReleased(shards.length);
  }

  /** Hands over every shard: those with nothing on the wire at once, the rest when their requests have ended. */
  async giveAll(graceMs: number): Promise<void> {
    const busy = this.#options.work.busyShards();
    const all = [...this.#owned.keys()].filter((shard) => !this.#giving.has(shard));
    const idle = all.filter((shard) => !busy.has(shard));
    const rest = all.filter((shard) => busy.has(shard));
    await Promise.all([this.give(idle, 0), this.give(rest, graceMs)]);
  }

  /** Sweeps these shards soon. Sweeps that are asked for again and again are spaced. */
  sweepSoon(shards: readonly number[]): void {
    for (const shard of shards) if (this.since(shard) !== null) this.#toSweep.add(shard);
    if (!this.#isSweeping) void this.#sweep();
  }

  async #load(shards: readonly number[]): Promise<void> {
    const { work, clock, onGained, onError } = this.#options;
    const term = this.#term;
    const loading = (): number[] =>
      term === this.#term ? shards.filter((shard) => this.#owned.get(shard) === null) : [];
    try {
      await work.load(new Set(shards), () => {
        for (const shard of loading()) this.#owned.set(shard, clock.monotonic());
      });
      this.sweepSoon(shards);
      await onGained(shards.length);
    } catch (error) {
      onError(error);
      // The next step reads again that these shards are this node's, and loads them.
      for (const shard of loading()) this.#owned.delete(shard);
    }
  }

  #drop(shards: readonly number[]): void {
    for (const shard of shards) this.#owned.delete(shard);
    void this.#options.work.release(new Set(shards), 0).catch(this.#options.onError);
  }

  async #sweep(): Promise<void> {
    const { work, clock, onError } = this.#options;
    this.#isSweeping = true;
    while (this.#toSweep.size > 0) {
      const shards = [...this.#toSweep].filter((shard) => this.since(shard) !== null);
      this.#toSweep.clear();
      const startedAt = clock.monotonic();
      try {
        await work.sweep(shards);
      } catch (error) {
        onError(error);
        for (const shard of shards) this.#toSweep.add(shard);
      }
      const tookMs = clock.monotonic() - startedAt;
      await delay(clock, Math.max(SWEEP_PAUSE_MIN_MS, SWEEP_PAUSE_FACTOR * tookMs));
    }
    this.#isSweeping = false;
  }
}
