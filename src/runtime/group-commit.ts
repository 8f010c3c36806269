// Group commit: whatever arrives while one batch is being written makes the next one. No timer, so an idle
// system answers at once and a busy one shares each fsync among hundreds. A batch of some size goes to the store also
// while another is being written: side by side, the statements of one overlap the fsync of another; one behind the
// other, the store need not wait for the next.
//
// Items wait in queues, which share every batch: what one of them brings delays the first of another by one batch.
import type { Lane } from '../model/lane.ts';
import type { Clock } from './clock.ts';

/** Items, and the sums of `unitsOf` and of `bytesOf` over them. */
type Load = { items: number; units: number; bytes: number };

type BatchLimits = {
  /** In one batch; a heavier item goes alone. */
  batch: Load;
  /**
   * In one queue while all others are empty. A queue may hold as much as it leaves free, so that no one can fill what
   * is there for all; together they hold less than twice this.
   */
  waiting: Load;
};

const ONE_AT_A_TIME: Lane = { batches: 1, itemsMin: Number.POSITIVE_INFINITY, areParallel: false };
/** Of a full batch. */
const PART_TO_SHARE = 0.5;

type GroupCommitOptions<Item, Result> = {
  clock: Pick<Clock, 'afterTurn'>;
  limits: BatchLimits;
  unitsOf: (item: Item) => number;
  bytesOf: (item: Item) => number;
  /** In which queue an item waits. There are few, and each is kept for good. Default: all in one. */
  queueOf?: (item: Item) => number;
  /** Default: one batch at a time. */
  lane?: Lane;
  /** Writes a batch; one result per item, in order. A rejection is every item's rejection. */
  write: (items: Item[]) => Promise<Result[]>;
};

type Entry<Item, Result> = Load & {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
};

type Queue<Item, Result> = {
  entries: Entry<Item, Result>[];
  load: Load;
  /** Counts what is taken from all queues; 0: nothing was taken yet. Whose turn was longest ago comes first. */
  servedAt: number;
  /** Batches being written that have something of it. */
  writing: number;
};

/** What a batch has of one queue so far: its first entries. */
type Part<Item, Result> = { queue: Queue<Item, Result>; load: Load };

export class GroupCommit<Item, Result> {
  readonly #options: GroupCommitOptions<Item, Result>;
  readonly #lane: Lane;
  readonly #queues = new Map<number, Queue<Item, Result>>();
  readonly #load: Load = noLoad();
  #served = 0;
  #writing = 0;
  #isPlanned = false;
  #idleWaiters: (() => void)[] = [];

  constructor(options: GroupCommitOptions<Item, Result>) {
    this.#options = options;
    this.#lane = options.lane ?? ONE_AT_A_TIME;
  }

  /** Resolves with the item's own result once its batch is written; null: too much is waiting already. */
  submit(item: Item): Promise<Result> | null {
    const { unitsOf, bytesOf } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const entry = { item, items: 1, units: unitsOf(item), bytes: bytesOf(item), resolve, reject };
    const queue = this.#queueFor(item);
    if (!this.#hasRoom(queue, entry)) return null;
    addLoad(queue.load, entry);
    addLoad(this.#load, entry);
    queue.entries.push(entry);
    this.#planStart();
    return promise;
  }

  /** Resolves when nothing waits and nothing is being written. */
  idle(): Promise<void> {
    const isIdle = this.#writing === 0 && this.#load.items === 0;
    return isIdle ? Promise.resolve() : new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  #queueFor(item: Item): Queue<Item, Result> {
    const key = this.#options.queueOf?.(item) ?? 0;
    let queue = this.#queues.get(key);
    if (queue === undefined) {
      queue = { entries: [], load: noLoad(), servedAt: 0, writing: 0 };
      this.#queues.set(key, queue);
    }
    return queue;
  }

  #hasRoom({ load }: Queue<Item, Result>, { items, units, bytes }: Load): boolean {
    const { waiting } = this.#options.limits;
    const all = this.#load;
    return (
      load.items + items <= 2 * waiting.items - all.items - items &&
      load.units + units <= 2 * waiting.units - all.units - units &&
      load.bytes + bytes <= 2 * waiting.bytes - all.bytes - bytes
    );
  }

  /** Few items after the current turn: requests that were read together are written together. */
  #planStart(): void {
    if (this.#isWorthALane()) return void this.#run();
    if (this.#isPlanned || !this.#mayStart()) return;
    this.#isPlanned = true;
    this.#options.clock.afterTurn(() => {
      this.#isPlanned = false;
      this.#start();
    });
  }

  #mayStart(): boolean {
    const { batches, areParallel } = this.#lane;
    if (this.#writing === 0) return this.#load.items > 0;
    if (this.#isWorthALane()) return true;
    if (!areParallel || this.#writing >= batches) return false;
    return this.#queues.values().some(({ entries, writing }) => entries.length > 0 && writing === 0);
  }

  #isWorthALane(): boolean {
    return this.#load.items >= this.#lane.itemsMin && this.#writing < this.#lane.batches;
  }

  #start(): void {
    while (this.#mayStart()) void this.#run();
  }

  async #run(): Promise<void> {
    const queues = [...this.#queues.values()].sort((a, b) => a.servedAt - b.servedAt);
    const parts = composeBatch(queues, this.#options.limits.batch);
    const batch = parts.flatMap((part) => this.#take(part));
    this.#writing++;
    await this.#writeBatch(batch);
    this.#writing--;
    for (const { queue } of parts) queue.writing--;
    this.#start();
    if (this.#writing > 0) return;
    for (const resolve of this.#idleWaiters) resolve();
    this.#idleWaiters = [];
  }

  #take({ queue, load }: Part<Item, Result>): Entry<Item, Result>[] {
    queue.writing++;
    subtractLoad(queue.load, load);
    subtractLoad(this.#load, load);
    queue.servedAt = ++this.#served;
    return queue.entries.splice(0, load.items);
  }

  async #writeBatch(batch: Entry<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#options.write(batch.map((entry) => entry.item));
      for (let i = 0; i < batch.length; i++) batch[i]!.resolve(results[i]!);
    } catch (error) {
      for (const entry of batch) entry.reject(error);
    }
  }
}

/**
 * What goes together, at least one entry: always the next of the queue that has used up least of the batch's limits so
 * far. A queue whose next entry does not fit waits for the following batch, in which its turn comes first.
 */
function composeBatch<Item, Result>(queues: readonly Queue<Item, Result>[], full: Load): Part<Item, Result>[] {
  const total = noLoad();
  const short = shorten(full);
  const parts = queues.map((queue) => ({ queue, load: noLoad() }));
  let open = parts;
  while (open.length > 0) {
    const next = leastServed(open, full);
    const entry = next.queue.entries[next.load.items];
    const isShared = total.items > next.load.items;
    if (entry === undefined || !fits(total, entry, isShared ? short : full)) {
      open = open.filter((part) => part !== next);
      continue;
    }
    addLoad(next.load, entry);
    addLoad(total, entry);
  }
  return parts.filter(({ load }) => load.items > 0);
}

/** The one that has used up least of a batch's limits. */
function leastServed<Item, Result>(parts: readonly Part<Item, Result>[], full: Load): Part<Item, Result> {
  let least = parts[0]!;
  for (let i = 1; i < parts.length; i++)
    if (shareOf(parts[i]!.load, full) < shareOf(least.load, full)) least = parts[i]!;
  return least;
}

function fits(total: Load, { items, units, bytes }: Load, max: Load): boolean {
  if (total.items === 0) return true;
  return total.items + items <= max.items && total.units + units <= max.units && total.bytes + bytes <= max.bytes;
}

/** What queues share is short, so that nobody's transaction is long for what another put into it. */
function shorten({ items, units, bytes }: Load): Load {
  return { items, units: units * PART_TO_SHARE, bytes: bytes * PART_TO_SHARE };
}

/** Of whichever limit of a batch is used up most. */
function shareOf(load: Load, full: Load): number {
  return Math.max(load.items / full.items, load.units / full.units, load.bytes / full.bytes);
}

function noLoad(): Load {
  return { items: 0, units: 0, bytes: 0 };
}

function addLoad(to: Load, { items, units, bytes }: Load): void {
  to.items += items;
  to.units += units;
  to.bytes += bytes;
}

function subtractLoad(from: Load, { items, units, bytes }: Load): void {
  from.items -= items;
  from.units -= units;
  from.bytes -= bytes;
}
