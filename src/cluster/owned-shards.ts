// The shards that are this node's, as far as it knows, and how they come and go: first the store says that they are
// ours, then what their owner must know is loaded, then we send; and the other way round.
import { SHARD_COUNT } from '../model/id.ts';
import type { NodeId } from '../model/id.ts';
import { delay } from '../runtime/clock.ts';
import type { Clock } from '../runtime/clock.ts';
import type { ClusterStore } from '../store/store.ts';
import type { Work } from './work.ts';

const RETRY_DELAY_MS = 250;
/** An asked-for sweep is followed by a pause of this many times what it took, at least the least. */
const SWEEP_PAUSE_FACTOR = 4;
const SWEEP_PAUSE_MIN_MS = 100;

export const ALL_SHARDS: readonly number[] = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);

type OwnedShardsOptions = {
  id: NodeId;
  store: Pick<ClusterStore, 'freeShards'>;
  clock: Clock;
  work: Work;
  /** Shards were loaded, or given away. */
  onGained: (count: number) => Promise<void>;
  onReleased: (count: number) => void;
  onError: (error: unknown) => void;
};

export class OwnedShards {
  /** Monotonic ms since when; null: the store says so, but what their owner must know is still being loaded. */
  readonly #owned = new Map<number, number | null>();
  readonly #giving = new Set<number>();
  readonly #toSweep = new Set<number>();
  readonly #options: OwnedShardsOptions;
  #isSweeping = false;
  /** Raised when all is lost: what was begun before that is of no account. */
  #term = 0;
  /** Raised whenever shards have been given away: a view of the store from before that is out of date. */
  #version = 0;

  constructor(options: OwnedShardsOptions) {
    this.#options = options;
  }

  since(shard: number): number | null {
    return this.#giving.has(shard) ? null : (this.#owned.get(shard) ?? null);
  }

  /** Those that we send to. */
  list(): number[] {
    return ALL_SHARDS.filter((shard) => this.since(shard) !== null);
  }

  get giving(): ReadonlySet<number> {
    return this.#giving;
  }

  get version(): number {
    return this.#version;
  }

  /** The store's word, which is no older than `version`: what it gives us is loaded, what it denies us is dropped. */
  reconcile(isOurs: (shard: number) => boolean, version: number): void {
    if (version !== this.#version) return;
    const settled = ALL_SHARDS.filter((shard) => !this.#giving.has(shard));
    const gained = settled.filter((shard) => isOurs(shard) && !this.#owned.has(shard));
    const lost = settled.filter((shard) => !isOurs(shard) && this.#owned.has(shard));
    if (lost.length > 0) this.#drop(lost);
    if (gained.length > 0) this.gain(gained);
  }

  /** These are ours in the store. */
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

  /** Stops sending, waits for what is on the wire, then lets another node take them. Tries until the store has it. */
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

  /** Those with nothing on the wire at once, the others as soon as that has ended. */
  async giveAll(graceMs: number): Promise<void> {
    const busy = this.#options.work.busyShards();
    const all = [...this.#owned.keys()].filter((shard) => !this.#giving.has(shard));
    const idle = all.filter((shard) => !busy.has(shard));
    const rest = all.filter((shard) => busy.has(shard));
    await Promise.all([this.give(idle, 0), this.give(rest, graceMs)]);
  }

  /** As soon as may be, but not all the time. */
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
      // The next look at the store finds them again.
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
