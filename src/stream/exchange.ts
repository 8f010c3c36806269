// How the streams of one node get what happens on the others. A node that has streams says so now and then; while one
// does, every node records, leaves its messages in the store in batches, and announces them. While none does, nothing
// is recorded and nothing said. What an announcement that is lost would have told, the next one tells.
import type { NodeId } from '../model/id.ts';
import type { Clock } from '../runtime/clock.ts';
import type { ClusterStore } from '../store/cluster-store.ts';
import { Incoming } from './incoming.ts';
import type { Message } from './message.ts';
import { Dropping, Outgoing, type Batch } from './outgoing.ts';
import { decodeSaid, Voice, type Said } from './said.ts';

/** How often who watches says so, and who records says how far it has come ... */
const SAY_INTERVAL_MS = 5_000;
/** ... and how long a node that was told records, whatever becomes of the other. */
const RECORDED_FOR_MS = 30_000;
/** So long a stream waits for the other nodes to begin. */
const JOIN_WITHIN_MS = 2_000;
/** After a sign of another node: by then what came from it is no longer what streams go on from. */
const COMPANY_FOR_MS = 120_000;

type Listener = {
  /** Another node watches: an environment is to be recorded until then, with bodies until then (monotonic). */
  onWatched: (environment: number, until: { recorded: number; bodies: number }) => void;
  /** `lost`: messages before these; null: nobody knows how many. */
  onReceived: (environment: number, messages: Message[], lost: number | null) => void;
};

/** `begin`: what comes from then on is received. */
type Joined = { messages: Message[]; isComplete: boolean; begin: () => void };

type Recorded = { environment: number; isWatched: boolean; withBodies: boolean };

type ExchangeOptions = {
  node: NodeId;
  environments: readonly number[];
  store: Pick<ClusterStore, 'publishMessages' | 'readMessages' | 'dropMessages' | 'readCluster' | 'announce'>;
  clock: Clock;
  onError: (error: unknown) => void;
};

export class Exchange {
  readonly #options: ExchangeOptions;
  readonly #voice: Voice;
  readonly #dropping: Dropping;
  readonly #outgoing = new Map<number, Outgoing>();
  readonly #incoming = new Map<number, Incoming>();
  readonly #onPublished = new Set<(said: Said & { about: 'published' }) => void>();
  #listener: Listener | null = null;
  /** The environments whose bodies were asked for when it was last said who watches. */
  #bodiesSaid: readonly number[] = [];
  #saidAt = Number.NEGATIVE_INFINITY;
  /** Monotonic ms: of the last sign of another node. */
  #companyAt = Number.NEGATIVE_INFINITY;
  #hasStarted = false;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.#voice = new Voice(options);
    this.#dropping = new Dropping({ ...options, drop: () => options.store.dropMessages() });
  }

  /** No other node has been there for a while: nobody had these messages in another order. */
  isAlone(): boolean {
    return this.#options.clock.monotonic() - this.#companyAt > COMPANY_FOR_MS;
  }

  connect(listener: Listener): void {
    this.#listener = listener;
  }

  /** When this node has joined: those that watch say so at once. */
  start(): void {
    this.#hasStarted = true;
    this.#askWhoWatches();
  }

  /** What was asked while this node heard nothing had no answer: a node may join before it hears the others. */
  hearAgain(): void {
    if (this.#hasStarted) this.#askWhoWatches();
  }

  /**
   * Begins to watch. Resolves with what was recorded in the last minute when every other node records from now on; not
   * `isComplete`: one has not said so in time, or the store is away.
   */
  async join(environment: number, withBodies: boolean): Promise<Joined> {
    const { store, clock, onError } = this.#options;
    const incoming = new Incoming({
      environment,
      store,
      clock,
      onReceived: (messages, lost) => this.#listener?.onReceived(environment, messages, lost),
      onError,
    });
    this.#incoming.set(environment, incoming);
    const begin = (): void => incoming.begin();
    try {
      const isComplete = await this.#askAll(environment, withBodies);
      const { messages, nodes, isWhole } = await incoming.fill();
      if (nodes.some((id) => id !== this.#options.node)) this.#noteCompany();
      return { messages, isComplete: isComplete && isWhole, begin };
    } catch (error) {
      onError(error);
      return { messages: [], isComplete: false, begin };
    }
  }

  leave(environment: number): void {
    this.#incoming.delete(environment);
  }

  publish(environment: number, messages: readonly Message[], lost: number): void {
    if (messages.length === 0 && lost === 0) return;
    this.#outgoingOf(environment).add(messages, lost);
  }

  /** An announcement of any node, this one too. */
  hear(text: string): void {
    const said = decodeSaid(text);
    const { node, environments, clock } = this.#options;
    if (this.#voice.isClosed || said === null || said.node === node || !environments.includes(said.environment)) return;
    this.#noteCompany();
    const { environment } = said;
    if (said.about === 'lost') {
      this.#incoming.get(environment)?.lose(said.node);
      return;
    }
    if (said.about === 'joined') {
      if (!this.#incoming.has(environment)) return;
      void this.#voice.sayWatched(environment, { withBodies: this.#bodiesSaid.includes(environment), asks: false });
      return;
    }
    if (said.about === 'published') {
      this.#incoming.get(environment)?.note(said.node, said.number, said.isNew);
      for (const tell of this.#onPublished) tell(said);
      return;
    }
    const recorded = clock.monotonic() + RECORDED_FOR_MS;
    this.#listener?.onWatched(environment, {
      recorded,
      bodies: said.withBodies ? recorded : Number.NEGATIVE_INFINITY,
    });
    if (said.asks) void this.#sayHowFar(environment);
  }

  /** Nodes that died: one node finds them dead, and tells the others. */
  lose(nodes: readonly NodeId[]): void {
    for (const node of nodes) {
      for (const environment of this.#options.environments) {
        this.#incoming.get(environment)?.lose(node);
        void this.#voice.say({ about: 'lost', environment, node });
      }
    }
  }

  /** Twice a second, of what is recorded here. */
  look(recorded: readonly Recorded[]): void {
    const now = this.#options.clock.monotonic();
    const watched = recorded.filter(({ isWatched }) => isWatched);
    const bodies = watched.filter(({ withBodies }) => withBodies).map(({ environment }) => environment);
    if (bodies.join() === this.#bodiesSaid.join() && now - this.#saidAt < SAY_INTERVAL_MS) return;
    this.#saidAt = now;
    this.#bodiesSaid = bodies;
    for (const { environment, withBodies } of watched)
      void this.#voice.sayWatched(environment, { withBodies, asks: false });
    for (const { environment } of recorded) void this.#sayHowFar(environment);
  }

  /** Resolves when all that was published is in the store and announced. */
  async idle(): Promise<void> {
    await Promise.all([...this.#outgoing.values()].map((outgoing) => outgoing.idle()));
  }

  close(): void {
    this.#voice.close();
    this.#dropping.close();
  }

  #askWhoWatches(): void {
    const { environments, node } = this.#options;
    for (const environment of environments) void this.#voice.say({ about: 'joined', environment, node });
  }

  /** Whether every other node that lives has answered in time. */
  async #askAll(environment: number, withBodies: boolean): Promise<boolean> {
    const { node, store, clock } = this.#options;
    const answered = new Set<NodeId>();
    let expected: NodeId[] | null = null;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const check = (): void => {
      if (expected?.every((id) => answered.has(id))) resolve(true);
    };
    const note = (said: Said & { about: 'published' }): void => {
      if (said.environment === environment) answered.add(said.node);
      check();
    };
    this.#onPublished.add(note);
    const limit = clock.setTimer(() => resolve(false), JOIN_WITHIN_MS);
    try {
      const [{ now, nodes }] = await Promise.all([
        store.readCluster(),
        this.#voice.sayWatched(environment, { withBodies, asks: true }),
      ]);
      const living = nodes.filter(({ heartbeatAt, leaseMs }) => now - heartbeatAt < leaseMs);
      expected = living.map(({ id }) => id).filter((id) => id !== node);
      if (expected.length > 0) this.#noteCompany();
      check();
      return await promise;
    } finally {
      limit.cancel();
      this.#onPublished.delete(note);
    }
  }

  #noteCompany(): void {
    this.#companyAt = this.#options.clock.monotonic();
  }

  #sayHowFar(environment: number): Promise<void> {
    const number = this.#outgoing.get(environment)?.number ?? -1;
    return this.#voice.sayPublished(environment, { number, isNew: false });
  }

  #outgoingOf(environment: number): Outgoing {
    const publish = (batch: Batch): Promise<void> => this.#publishBatch({ environment, ...batch });
    return this.#outgoing.getOrInsertComputed(environment, () => new Outgoing(this.#options.clock, publish));
  }

  async #publishBatch(batch: Batch & { environment: number }): Promise<void> {
    const { environment, number } = batch;
    const { store, node, onError } = this.#options;
    if (this.#voice.isClosed) return;
    try {
      await store.publishMessages({ node, ...batch });
      await this.#voice.sayPublished(environment, { number, isNew: true });
    } catch (error) {
      onError(error);
    }
    this.#dropping.noteBatch();
  }
}
