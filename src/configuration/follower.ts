// Keeps each environment's destinations and subscriptions in memory, up to date with the store by deltas.
// Nothing here has a lifetime: matching is exact because the accept transaction compares versions.
import type { DestinationWithKeys } from '../model/destination.ts';
import type { DestinationId, SubscriptionId } from '../model/id.ts';
import type { Subscription } from '../model/subscription.ts';
import { isFilterFault, parseStoredFilter } from '../match/filter/parse.ts';
import type { Matcher } from '../match/bounded.ts';
import type { MatchEntry } from '../match/matcher.ts';
import type { ConfigurationChanges, Store } from '../store/store.ts';

export type Configuration = {
  environment: number;
  /** What `destinations` and `matcher` reflect. */
  version: number;
  destinations: Map<DestinationId, DestinationWithKeys>;
  matcher: Matcher;
};

export type Follower = ReturnType<typeof createFollower>;

const CHANGES_PER_LOAD = 5_000;

type FollowerOptions = {
  environments: readonly number[];
  store: Pick<Store, 'readChanges'>;
  createMatcher: () => Matcher;
  /** Called in the turn in which memory changes. */
  onDestinationChanged: (destination: DestinationWithKeys) => void;
  onDestinationDeleted: (id: DestinationId, environment: number) => void;
};

export function createFollower(options: FollowerOptions) {
  const followed = new Map(
    options.environments.map((environment) => [environment, new FollowedEnvironment(environment, options)]),
  );
  const followedOf = (environment: number): FollowedEnvironment => {
    const found = followed.get(environment);
    if (found === undefined) throw new Error(`unknown environment ${environment}`);
    return found;
  };
  return {
    configurationOf: (environment: number): Configuration => followedOf(environment).configuration,
    destinationOf: (id: DestinationId): DestinationWithKeys | undefined => {
      for (const { configuration } of followed.values()) {
        const destination = configuration.destinations.get(id);
        if (destination !== undefined) return destination;
      }
      return undefined;
    },
    /** Resolves when everything committed before the call is in memory. */
    catchUp: (environment: number): Promise<void> => followedOf(environment).catchUp(),
    /** The same of every environment. */
    async catchUpAll(): Promise<void> {
      for (const { catchUp } of followed.values()) await catchUp();
    },
  };
}

class FollowedEnvironment {
  readonly configuration: Configuration;
  /** Coalesced: many callers, one load at a time. */
  readonly catchUp: () => Promise<void>;
  readonly #options: FollowerOptions;
  /** What a deleted destination takes with it. */
  readonly #subscriptionsOf = new Map<DestinationId, Set<SubscriptionId>>();
  /** Of the store's last answer; null: it has not answered yet. */
  #history: string | null = null;
  /** While all is loaded afresh: what is in memory and was not among it so far. */
  #unseen: { destinations: Set<DestinationId>; subscriptions: Set<SubscriptionId> } | null = null;

  constructor(environment: number, options: FollowerOptions) {
    this.configuration = { environment, version: 0, destinations: new Map(), matcher: options.createMatcher() };
    this.#options = options;
    this.catchUp = createCoalescer(() => this.#loadAll());
  }

  async #loadAll(): Promise<void> {
    const { environment } = this.configuration;
    for (;;) {
      const after = this.configuration.version;
      const changes = await this.#options.store.readChanges({ environment, after, limit: CHANGES_PER_LOAD });
      if (this.#beginsAfresh(changes)) continue;
      this.#apply(changes);
      if (changes.version < changes.currentVersion) continue;
      this.#removeUnseen();
      return;
    }
  }

  /** True: these changes are of another history than what is in memory, so all is to be read from the first version. */
  #beginsAfresh({ history = '' }: ConfigurationChanges): boolean {
    const before = this.#history;
    this.#history = history;
    if (before === null || before === history) return false;
    this.configuration.version = 0;
    this.#unseen = {
      destinations: new Set(this.configuration.destinations.keys()),
      subscriptions: new Set([...this.#subscriptionsOf.values()].flatMap((ids) => [...ids])),
    };
    return true;
  }

  #removeUnseen(): void {
    const unseen = this.#unseen;
    this.#unseen = null;
    for (const id of unseen?.subscriptions ?? []) this.#removeSubscription(id);
    for (const id of unseen?.destinations ?? []) this.#removeDestination(id);
  }

  #apply(changes: ConfigurationChanges): void {
    for (const id of changes.deletedSubscriptions) this.#removeSubscription(id);
    for (const destination of changes.destinations) {
      this.configuration.destinations.set(destination.id, destination);
      this.#unseen?.destinations.delete(destination.id);
      this.#options.onDestinationChanged(destination);
    }
    for (const subscription of changes.subscriptions) this.#addSubscription(subscription);
    for (const id of changes.deletedDestinations) this.#removeDestination(id);
    this.configuration.version = changes.version;
  }

  #addSubscription(subscription: Subscription): void {
    // One string for all of a destination's subscriptions: each row of the store brings its own copy.
    const destinationId = this.configuration.destinations.get(subscription.destinationId)?.id;
    const entry = toMatchEntry({ ...subscription, destinationId: destinationId ?? subscription.destinationId });
    this.configuration.matcher.add(entry);
    this.#unseen?.subscriptions.delete(entry.id);
    this.#subscriptionsOf.getOrInsertComputed(entry.destinationId, () => new Set()).add(entry.id);
  }

  #removeSubscription(id: SubscriptionId): void {
    const removed = this.configuration.matcher.remove(id);
    if (removed !== undefined) this.#subscriptionsOf.get(removed.destinationId)?.delete(id);
  }

  #removeDestination(id: DestinationId): void {
    for (const subscriptionId of this.#subscriptionsOf.get(id) ?? []) this.configuration.matcher.remove(subscriptionId);
    this.#subscriptionsOf.delete(id);
    this.configuration.destinations.delete(id);
    this.#options.onDestinationDeleted(id, this.configuration.environment);
  }
}

function toMatchEntry({ id, destinationId, eventType, filter }: Subscription): MatchEntry {
  if (filter === null) return { id, destinationId, pattern: eventType, filter: null };
  const parsed = parseStoredFilter(filter);
  if (isFilterFault(parsed)) throw new Error(`the stored filter of ${id} is not valid: ${parsed.message}`);
  return { id, destinationId, pattern: eventType, filter: parsed };
}

/** Runs a task so that every caller is covered by a run that began after its call, and runs never overlap. */
function createCoalescer(task: () => Promise<void>): () => Promise<void> {
  let current: Promise<void> | null = null;
  let following: Promise<void> | null = null;
  const start = (): Promise<void> => {
    current = task().finally(() => (current = null));
    return current;
  };
  return () => {
    if (following !== null) return following;
    // A moment passes between the end of a run and the beginning of the one that was asked for meanwhile.
    if (current === null) return start();
    following = current
      .catch(() => undefined)
      .then(() => {
        following = null;
        return start();
      });
    return following;
  };
}
