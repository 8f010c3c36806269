// Reads what other nodes leave of one environment while it is watched here: each node's batches in their order, as far
// as it has announced them.
import type { NodeId } from '../model/id.ts';
import { createBreaks, type Clock } from '../runtime/clock.ts';
import type { ClusterStore, MessageBatch } from '../store/cluster-store.ts';
import type { Message } from './message.ts';
import { parseBatch } from './outgoing.ts';

/** Batches that come together are parsed in turns of this. */
const TURN_MS_MAX = 4;
/** Anybody who may connect to the database can announce for any number of nodes: the first that was named goes. */
const NODES_MAX = 1_000;
/** Nodes that are read from at once. */
const READS_MAX = 4;

type IncomingOptions = {
  environment: number;
  store: Pick<ClusterStore, 'readMessages'>;
  clock: Clock;
  /** `lost`: before these; null: nobody knows how many. */
  onReceived: (messages: Message[], lost: number | null) => void;
  onError: (error: unknown) => void;
};

export class Incoming {
  readonly #options: IncomingOptions;
  /** By node, the number of the last batch that was read, and of the last that was announced. */
  readonly #read = new Map<NodeId, number>();
  readonly #announced = new Map<NodeId, number>();
  readonly #reading = new Set<NodeId>();
  readonly #toRead = new Set<NodeId>();
  readonly #takeBreak: () => Promise<void>;
  #hasBegun = false;

  constructor(options: IncomingOptions) {
    this.#options = options;
    this.#takeBreak = createBreaks(options.clock, TURN_MS_MAX);
  }

  /** What nodes left in the last minute, the newest of it, in the order of ids; `isWhole`: none of it had lost any. */
  async fill(): Promise<{ messages: Message[]; nodes: NodeId[]; isWhole: boolean }> {
    const { environment, store } = this.#options;
    const batches = await store.readMessages({ environment, node: null, after: -1 });
    for (const { node, number } of batches) this.#read.set(node, Math.max(number, this.#read.get(node) ?? -1));
    const messages: Message[] = [];
    for (const { text } of batches) {
      messages.push(...parseBatch(text));
      await this.#takeBreak();
    }
    return {
      // Mostly in order already.
      messages: messages.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      nodes: batches.map(({ node }) => node),
      isWhole: batches.every(({ lost }) => lost === 0),
    };
  }

  /** From now on what is announced is read, and what was announced since `fill`. */
  begin(): void {
    this.#hasBegun = true;
    for (const node of this.#announced.keys()) this.#readLater(node);
  }

  /** `isNew`: the batch of this number came just now; else what came before it is not looked for. */
  note(node: NodeId, number: number, isNew: boolean): void {
    if (!this.#read.has(node)) this.#meet(node, isNew ? number - 1 : number);
    // Announcements may overtake each other.
    this.#announced.set(node, Math.max(number, this.#announced.get(node) ?? -1));
    this.#readLater(node);
  }

  /** The node died, and with it what it had recorded and not announced yet. */
  lose(node: NodeId): void {
    this.#announced.delete(node);
    if (this.#read.delete(node)) this.#options.onReceived([], null);
  }

  #meet(node: NodeId, read: number): void {
    if (this.#read.size >= NODES_MAX) {
      const first = this.#read.keys().next().value!;
      this.#read.delete(first);
      this.#announced.delete(first);
      this.#toRead.delete(first);
    }
    this.#read.set(node, read);
  }

  #readLater(node: NodeId): void {
    if (!this.#hasBegun || this.#reading.has(node) || !this.#isBehind(node)) return;
    this.#toRead.add(node);
    this.#readSome();
  }

  #readSome(): void {
    for (const node of this.#toRead) {
      if (this.#reading.size >= READS_MAX) return;
      this.#toRead.delete(node);
      this.#reading.add(node);
      void this.#readAll(node)
        .catch((error: unknown) => this.#options.onError(error))
        // What could not be read is looked for with the next announcement.
        .finally(() => {
          this.#reading.delete(node);
          this.#readSome();
        });
    }
  }

  async #readAll(node: NodeId): Promise<void> {
    const { environment, store, onReceived } = this.#options;
    while (this.#isBehind(node)) {
      const batches = await store.readMessages({ environment, node, after: this.#read.get(node)! });
      for (const batch of batches) {
        this.#receive(node, batch);
        await this.#takeBreak();
      }
      if (batches.length > 0 || !this.#isBehind(node)) continue;
      // They are dropped already, or were never stored.
      this.#read.set(node, this.#announced.get(node)!);
      onReceived([], null);
    }
  }

  #receive(node: NodeId, { number, lost, text }: MessageBatch): void {
    const hasHole = number > this.#read.get(node)! + 1;
    this.#read.set(node, number);
    this.#options.onReceived(parseBatch(text), hasHole ? null : lost);
  }

  #isBehind(node: NodeId): boolean {
    const announced = this.#announced.get(node);
    // Lost meanwhile.
    return announced !== undefined && announced > this.#read.get(node)!;
  }
}
