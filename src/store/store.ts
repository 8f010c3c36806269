// What the service asks of a store: intentions, never SQL, never a transaction handle. Every method is one
// transaction (or one consistent read). Two adapters implement it, and one conformance suite holds both to it. The
// interface is declared in sections, each with the types that it is about.
//
// Durable means: when a writing method's promise resolves, its transaction is committed and fsynced.
import type { ApiKey, Mode } from '../model/api-key.ts';
import type { DestinationActivity, DestinationCondition } from '../model/condition.ts';
import type { StoredAttempt } from '../model/attempt.ts';
import type { Delivery, DeliveryStatus, DeliveryWithAttempts, DueWork, OpenDelivery } from '../model/delivery.ts';
import type {
  Destination,
  DestinationChange,
  DestinationHealth,
  DestinationStatus,
  DestinationWithKeys,
  SigningKey,
} from '../model/destination.ts';
import type { Event, ScheduledDelivery } from '../model/event.ts';
import type { TypeSelection } from '../model/event-type.ts';
import type {
  ApiKeyId,
  DeliveryId,
  DestinationId,
  EventId,
  OperationId,
  SigningKeyId,
  SubscriptionId,
} from '../model/id.ts';
import type { Lane } from '../model/lane.ts';
import type { EndedUnsent } from '../model/observer.ts';
import type { Operation, OperationAction, OperationEnd } from '../model/operation.ts';
import type { Subscription } from '../model/subscription.ts';
import type { Decision, SendAgain, SendAgainRefusal } from '../model/transitions.ts';
import type { ClusterStore } from './cluster-store.ts';

export interface Store {
  /** How batches are best handed in; absent: one of each at a time. */
  readonly lanes?: Lanes;
  /** Absent: the store admits one server at a time, which owns every shard. */
  readonly cluster?: ClusterStore;
  /**
   * What has become of the place where the data are kept, though the store goes on working: then nothing is accepted,
   * and nothing should be sent. null: nothing. Absent: the place is another program's to watch.
   */
  findTrouble?(): Promise<string | null>;
  /** Resolves when everything under way is committed and all handles are closed. */
  close(): Promise<void>;
}

/** What a command has beside a running server: nothing that touches deliveries, which the server counts in memory. */
export type ToolStore = Pick<Store, 'readEnvironments' | 'listApiKeys' | 'createApiKey' | 'revokeApiKey' | 'close'>;

type Lanes = { accepting: Lane; recording: Lane };

// ── Configuration: keys, destinations, subscriptions ─────────────────────────────────────────────────────

export interface Store {
  readEnvironments(): Promise<EnvironmentVersions[]>;
  /**
   * What changed in `(after, version]`, at least one version and about `limit` rows at most; call again with the
   * returned `version` until it equals `currentVersion`. A deleted destination takes its subscriptions with it,
   * which are not listed one by one.
   */
  readChanges(request: { environment: number; after: number; limit: number }): Promise<ConfigurationChanges>;

  /** Keys that are not revoked, of every environment: what authentication holds in memory. */
  readApiKeys(): Promise<ApiKey[]>;
  listApiKeys(request: { environments: number[] } & PageRequest<ApiKeyId>): Promise<Page<ApiKey, ApiKeyId>>;
  createApiKey(key: ApiKey): Promise<void>;
  /** On a store that never had a key. False: it has had one, or another process was faster; nothing is made. */
  createFirstApiKeys(keys: ApiKey[]): Promise<boolean>;
  /** False: there is none of that id in these environments. */
  revokeApiKey(request: { environments: number[]; id: ApiKeyId }): Promise<boolean>;
  touchApiKeys(uses: { id: ApiKeyId; lastUsedAt: number }[]): Promise<void>;

  createDestination(destination: DestinationWithKeys, limits: { max: number }): Promise<'created' | 'over_limit'>;
  readDestination(request: { environment: number; id: DestinationId }): Promise<DestinationWithKeys | null>;
  listDestinations(
    request: { environment: number; status: DestinationStatus | null } & PageRequest<DestinationId>,
  ): Promise<Page<Destination, DestinationId>>;
  /**
   * A header value of null keeps what is stored under that name (in any case). Pausing sets the reason `manual`;
   * activating clears the reason and the destination's failure count.
   */
  updateDestination(request: {
    environment: number;
    id: DestinationId;
    change: Omit<DestinationChange, 'headers'> & { headers?: Record<string, string | null> };
    now: number;
  }): Promise<Destination | null>;
  /** Leaves a tombstone: unfinished deliveries read as dead at once, their rows follow in `endDeletedDeliveries`. */
  deleteDestination(request: { environment: number; id: DestinationId; now: number }): Promise<boolean>;

  rotateSigningKey(request: {
    environment: number;
    id: DestinationId;
    key: SigningKey;
    previousExpiresAt: number;
    now: number;
  }): Promise<{ result: 'rotated' } | { result: 'in_progress'; until: number } | { result: 'not_found' }>;
  endSigningKey(request: {
    environment: number;
    id: DestinationId;
    keyId: SigningKeyId;
    now: number;
  }): Promise<'ended' | 'newest' | 'key_not_found' | 'not_found'>;

  /** `identity` tells identical subscriptions of one destination: an equal one that exists is returned instead. */
  createSubscription(
    request: { subscription: Subscription; identity: Uint8Array },
    limits: { perDestinationMax: number; perEnvironmentMax: number },
  ): Promise<
    | { result: 'created' | 'exists'; subscription: Subscription }
    | { result: 'destination_not_found' | 'over_destination_limit' | 'over_environment_limit' }
  >;
  readSubscription(request: { environment: number; id: SubscriptionId }): Promise<Subscription | null>;
  listSubscriptions(
    request: { environment: number; destinationId: DestinationId | null } & PageRequest<SubscriptionId>,
  ): Promise<Page<Subscription, SubscriptionId>>;
  deleteSubscription(request: { environment: number; id: SubscriptionId }): Promise<boolean>;
}

/** Raised in the transaction of every change to the environment's configuration, or to its keys. */
export type EnvironmentVersions = {
  environment: number;
  account: string;
  mode: Mode;
  configVersion: number;
  authVersion: number;
};

export type ConfigurationChanges = {
  /** Another than before: what was read may be lost, and all is to be read anew. Absent: the store's first. */
  history?: string;
  version: number;
  currentVersion: number;
  destinations: DestinationWithKeys[];
  deletedDestinations: DestinationId[];
  subscriptions: Subscription[];
  deletedSubscriptions: SubscriptionId[];
};

/** Newest first: rows whose id is below `before` (null: from the newest). */
export type PageRequest<Id> = { before: Id | null; limit: number };

/** `next` is where the following page starts (its `before`); null: this was the last. A page may be short. */
export type Page<Row, Id> = { rows: Row[]; next: Id | null };

// ── Events: accept, replay, read ─────────────────────────────────────────────────────────────────────────

export interface Store {
  /**
   * One transaction for all. Events are independent: one that is stale or a duplicate leaves the others alone.
   * Of equal idempotency keys in one batch the first wins.
   */
  acceptEvents(events: NewEvent[]): Promise<AcceptResult[]>;
  /** Which event holds an idempotency key at the time `now`; null: none. */
  readKeyHolder(request: { environment: number; key: string; now: number }): Promise<KeyHolder | null>;
  replayEvent(request: ReplayRequest): Promise<ReplayResult>;
  readEvent(request: { environment: number; id: EventId }): Promise<EventWithBody | null>;
  /**
   * An event's deliveries by id after `after` (null: from the first), with statuses as they are now: a page of
   * SCHEDULED_PAGE of them; a shorter one is the last. `first`: those that the answer to its POST listed, in order.
   */
  readScheduledDeliveries(request: ScheduledPageRequest): Promise<ScheduledDelivery[]>;
  listEvents(
    request: { environment: number; type: TypeSelection | null } & TimeRange & PageRequest<EventId>,
  ): Promise<Page<Event, EventId>>;
}

export type NewEvent = Event & {
  body: Uint8Array;
  /** Of its deliveries. By the clock: the time in an id may be ahead of that. */
  dueAt: number;
  /** The version of the configuration that `deliveries` was matched against. */
  configVersion: number;
  idempotency: { fingerprint: Uint8Array; expiresAt: number } | null;
  deliveries: NewDelivery[];
};

export type NewDelivery = { id: DeliveryId; destinationId: DestinationId; subscriptionId: SubscriptionId };

export type KeyHolder = { eventId: EventId; fingerprint: Uint8Array };

export type ReplayRequest = {
  environment: number;
  eventId: EventId;
  configVersion: number;
  deliveries: NewDelivery[];
  now: number;
  /** Events accepted before this have no body any more. */
  bodyCutoff: number;
};

/**
 * Of deliveries that a commit has made or moved. `mayBeUnderWay`: they may have been in the store for a while, where
 * others find them, and send them: the connection was lost, and the database was asked what became of the commit.
 */
export type ToHandOver = { mayBeUnderWay?: true };

export type ReplayResult =
  | ({ result: 'replayed'; backlogFull: DeliveryId[] } & ToHandOver)
  | { result: 'stale' | 'not_found' | 'too_old' };

export const SCHEDULED_PAGE = 500;
/** With headers and bodies as long as they may be about 2 MiB. */
export const ATTEMPTS_PAGE = 50;
export const DELIVERIES_SHOWN_MAX = 10_000;

export type ScheduledPageRequest = {
  environment: number;
  eventId: EventId;
  which: 'first' | 'all';
  after: DeliveryId | null;
};

export type AcceptResult =
  /** `backlogFull`: deliveries that were born dead because their destination has too many unfinished ones. */
  | ({ result: 'accepted'; backlogFull: DeliveryId[] } & ToHandOver)
  /** The configuration changed since the match: nothing was stored; match again. */
  | { result: 'stale' }
  /** The key is taken, by this event; nothing was stored. */
  | ({ result: 'duplicate' } & KeyHolder)
  /** This one alone cannot be stored, by whatever is in it; the rest of the batch was. */
  | { result: 'failed'; error: unknown };

/** `body` is null once erased. `deliveries`: of the newest DELIVERIES_SHOWN_MAX the first page, oldest first. */
export type EventWithBody = { event: Event; body: Uint8Array | null; deliveries: ScheduledDelivery[] };

/** By creation, Unix ms: `since` inclusive, `until` exclusive. */
export type TimeRange = { since: number | null; until: number | null };

// ── Dispatch: find work, send it, record what came of it ─────────────────────────────────────────────────

export interface Store {
  /**
   * The destinations that have unfinished deliveries, each with the earliest due time, in the order of a key of
   * the adapter's: pass `next` on as `after` until it is null. Skips over each destination's backlog.
   */
  sweep(request: SweepRequest): Promise<SweepPage>;
  /** For each destination its first unfinished deliveries in `(dueAt, id)` order, less those in `exclude`. */
  refill(requests: RefillRequest[]): Promise<Refill[]>;
  /** What is sent, for events whose body is still there; missing ones are left out. */
  readPayloads(eventIds: EventId[]): Promise<EventPayload[]>;
  readHealth(): Promise<DestinationHealth[]>;
  /** One transaction for all results, the health of their destinations and the pauses that follow. */
  recordResults(request: {
    results: ResultToRecord[];
    health: DestinationHealth[];
    now: number;
  }): Promise<{ outcomes: RecordOutcome[]; paused: DestinationId[] }>;
}

/** `shards`: only destinations of these; absent: of all. They must be the same on every page. */
type SweepRequest = { after: string | null; limit: number; shards?: readonly number[] };

export type SweepPage = { destinations: DueWork[]; next: string | null };

export type RefillRequest = {
  destinationId: DestinationId;
  /** Only what is due by then is returned. */
  dueBy: number;
  /**
   * Nothing but forced deliveries is known to be due earlier and not in memory, so nothing else is looked for there:
   * what was there is in memory or gone, and would cost time to read past. What is there all the same the sweep finds.
   */
  dueFrom: number;
  limit: number;
  /** In memory already. */
  exclude: DeliveryId[];
};

export type Refill = {
  destinationId: DestinationId;
  deliveries: OpenDelivery[];
  /** When the first delivery is due that is neither excluded nor returned; null: there is none. */
  nextDueAt: number | null;
};

export type EventPayload = Pick<Event, 'id' | 'type' | 'occurredAt' | 'traceparent'> & { body: Uint8Array };

export type ResultToRecord = {
  id: DeliveryId;
  /** The revision that `decision` was made on. */
  rev: number;
  /** Numbered by the store: one more than the attempts recorded so far. */
  attempt: AttemptToStore;
  /**
   * Raises `rev` when written; a success also if the delivery has expired meanwhile (`mayRevive`). null: the delivery
   * is finished; only its history grows, whatever its revision.
   */
  decision: Decision | null;
};

export type AttemptToStore = Omit<StoredAttempt, 'attempt'>;

export type RecordOutcome =
  | { result: 'recorded' }
  /** Another writer was first: nothing of this result was stored. Decide again on what is there now. */
  | { result: 'conflict'; current: OpenDelivery | 'finished' | 'pruned' };

// ── History: what operators look at, and the two ways to send again ──────────────────────────────────────

export const READ_DELIVERIES_MAX = 500;

export interface Store {
  listDeliveries(
    request: { environment: number; filter: DeliveryFilter } & PageRequest<DeliveryId>,
  ): Promise<Page<Delivery, DeliveryId>>;
  /**
   * Of a list its next `limit` deliveries, counted from the index alone: by the status in rows, so that what only a
   * deletion has ended counts as what it was. `next`: where the following ones start (`before`); null: these were all.
   */
  countDeliveries(request: CountRequest & PageRequest<DeliveryId>): Promise<CountedDeliveries>;
  /** With its first attempts: a page of ATTEMPTS_PAGE of them; a shorter one has all. */
  readDelivery(request: { environment: number; id: DeliveryId }): Promise<DeliveryWithAttempts | null>;
  /** The page of attempts that follow the `after`th. */
  readAttempts(request: { id: DeliveryId; after: number }): Promise<StoredAttempt[]>;
  /** As lists show them, in any order; those that are not there are left out. At most READ_DELIVERIES_MAX of them. */
  readDeliveries(request: { environment: number; ids: readonly DeliveryId[] }): Promise<Delivery[]>;
  /**
   * Forces one attempt: `retrying`, due at once, what it was kept as the fallback. A delivery that is forced
   * already stays as it is (`open: null`).
   */
  retryDelivery(request: SendAgainRequest): Promise<SendAgainResult>;
  /** A dead delivery becomes pending with a fresh schedule; one that is not dead: `not_found`. */
  replayDead(request: SendAgainRequest): Promise<SendAgainResult>;
}

export type DeliveryFilter = {
  eventId: EventId | null;
  destinationId: DestinationId | null;
  status: DeliveryStatus | null;
} & TimeRange;

type CountRequest = { environment: number; destinationId: DestinationId | null; status: DeliveryStatus } & TimeRange;

/** `oldest`, `newest`: of those counted; null: there are none. */
export type CountedDeliveries = { count: number } & Record<'oldest' | 'newest' | 'next', DeliveryId | null>;

export type SendAgainRequest = { environment: number; id: DeliveryId; now: number; bodyCutoff: number };

export type SendAgainResult =
  | ({ result: 'scheduled'; delivery: Delivery; open: OpenDelivery | null } & ToHandOver)
  | { result: SendAgainRefusal };

// ── Operations: what is asked for many deliveries at once, in steps ──────────────────────────────────────

export interface Store {
  /** `identity` tells equal requests: one that has not ended stands in the way of another. */
  createOperation(
    request: { operation: Operation; identity: Uint8Array },
    limits: { unfinishedMax: number },
  ): Promise<{ result: 'created' | 'over_limit' } | { result: 'in_progress'; id: OperationId }>;
  readOperation(request: { environment: number; id: OperationId }): Promise<Operation | null>;
  listOperations(request: { environment: number } & PageRequest<OperationId>): Promise<Page<Operation, OperationId>>;
  /** Those that are running, of every environment, oldest first. */
  readRunningOperations(): Promise<{ environment: number; id: OperationId; rev: number }[]>;
  changeOperation(request: {
    environment: number;
    id: OperationId;
    action: OperationAction;
    now: number;
  }): Promise<Operation | 'ended' | 'not_found'>;
  /** One step in one transaction: what it does to deliveries, and how far the operation has come by it. */
  advanceOperation(step: OperationStep): Promise<OperationStepResult>;
  /** The destinations that have had a 2xx for an event. */
  readSucceeded(request: { environment: number; eventId: EventId }): Promise<DestinationId[]>;
}

export type OperationStep = {
  operation: Operation;
  now: number;
  position: string;
  end: OperationEnd | null;
  counted: number;
  failed: number;
  /** Events accepted before this have no body any more. */
  bodyCutoff: number;
  /** Deliveries that are sent again; those that cannot be are skipped. */
  sendAgain: { how: SendAgain; ids: DeliveryId[] } | null;
  /** New deliveries of old events; of an event whose body is gone they are skipped, born dead they have failed. */
  replays: OperationReplays | null;
};

export type OperationReplays = { configVersion: number; events: { id: EventId; deliveries: NewDelivery[] }[] };

export type OperationStepResult =
  /** `open`: what was sent again. `backlogFull`: of the new ones those that are dead. `tooOld`: got none. */
  | ({
      result: 'advanced';
      operation: Operation;
      open: OpenDelivery[];
      backlogFull: DeliveryId[];
      tooOld: EventId[];
    } & ToHandOver)
  /** It is not running any more, or another node has taken this step. */
  | { result: 'overtaken' }
  /** The configuration changed since the match. */
  | { result: 'stale' };

// ── Maintenance: small steps, each within a time budget, until `more` is false ───────────────────────────

export interface Store {
  /** Ends unfinished deliveries of events accepted before the cutoff (`expired`) and erases the events' bodies. */
  eraseBodies(request: { cutoff: number; now: number; budgetMs: number }): Promise<StepReport>;
  /** Removes events accepted before the cutoff with their deliveries and attempts; expired idempotency keys too. */
  pruneRows(request: { cutoff: number; now: number; budgetMs: number }): Promise<StepReport>;
  /** Writes `dead`/`destination_deleted` into unfinished deliveries whose destination is gone. */
  endDeletedDeliveries(request: { now: number; budgetMs: number }): Promise<StepReport>;
  /** `shards` (of a store with `cluster` only): counts unfinished deliveries of these; absent: of all. */
  readStats(shards?: readonly number[]): Promise<StoreStats>;
  /** The destinations with the most unfinished deliveries, the most first; none with fewer than `min`. */
  findBacklogs(request: { min: number; limit: number; shards?: readonly number[] }): Promise<DestinationBacklog[]>;
}

/** `ended`: deliveries that a step of the first or third kind ended, by destination. */
export type StepReport = { changed: number; more: boolean; ended?: EndedUnsent[] };
export type DestinationBacklog = { destinationId: DestinationId; environment: number; unfinished: number };

export type StoreStats = {
  /** Deliveries that are pending or retrying, by environment. */
  unfinished: { environment: number; count: number }[];
  /** What the data take on disk, and the room left for more. Null where the adapter cannot know. */
  storedBytes: number | null;
  freeBytes: number | null;
};

// ── Stats: what is counted, by minute and by hour, and how destinations are doing ────────────────────────────

export interface Store {
  /** One transaction. A row that is there is overwritten, so that writing twice changes nothing. */
  writeCounts(rows: StoredCounts[]): Promise<void>;
  /** In the order of `(at, writer)`; fewer than `limit`: these were the last. */
  readCounts(
    request: CountsSubject & TimeRange & { after: { at: number; writer: number } | null; limit: number },
  ): Promise<Pick<StoredCounts, 'at' | 'writer' | 'counts'>[]>;
  /** Removes counts of minutes and hours before these, and what is known of destinations reported before `hours`. */
  pruneCounts(request: { minutes: number; hours: number; budgetMs: number }): Promise<StepReport>;
  /** One transaction. Of each member that is a point in time the latest is kept, by whichever node it was reported. */
  writeActivity(reports: DestinationActivity[]): Promise<void>;
  /** In the order of the ids, of which there should be few. */
  readConditions(ids: DestinationId[]): Promise<DestinationCondition[]>;
  /** Unfinished deliveries, in the order of the ids. */
  countUnfinished(ids: DestinationId[]): Promise<number[]>;
  /** Deliveries of an environment that read as of this status, counted as far as `max` rows. `isAll`: no more. */
  countOpen(request: {
    environment: number;
    status: 'pending' | 'retrying';
    max: number;
  }): Promise<{ count: number; isAll: boolean }>;
}

/** `subject`: the id of a destination or the event type; else empty. `pulse`: how a process is doing just now. */
export type CountsSubject = {
  span: 'minute' | 'hour';
  environment: number;
  kind: 'environment' | 'destination' | 'event_type' | 'pulse';
  subject: string;
};

/** `at`: the start of the span, Unix ms. `writer`: whoever counts, one for each process and start. */
export type StoredCounts = CountsSubject & { at: number; writer: number; counts: Uint8Array };

// ── Errors ───────────────────────────────────────────────────────────────────────────────────────────────

export type StoreErrorCode =
  /** No room for new events (results still have their reserve), or none at all. Passes when there is room. */
  | 'disk_full'
  /** The store cannot be reached or written just now. Passes by itself, or the process must be restarted. */
  | 'unavailable'
  /** Of one event: a transaction that has not ended holds its idempotency key. Passes when that one ends. */
  | 'key_locked'
  /** Another server runs on the same data. */
  | 'in_use'
  /** There is no store where one was named. */
  | 'missing'
  | 'newer_schema'
  | 'corrupt'
  | 'wrong_master_key'
  /** What DATABASE_URL or MASTER_KEY says, or leaves out, is a mistake whatever the store holds. */
  | 'wrong_setting'
  | 'unwritable';

/** An operating error, for the operator; `message` says what to do. */
export class StoreError extends Error {
  readonly code: StoreErrorCode;
  /** What anybody may read: no host, no user. */
  readonly summary: string;

  /** `detail`: what the system or a server says of it; after the message, which is the summary. */
  constructor(code: StoreErrorCode, message: string, { detail, cause }: ErrorOptions & { detail?: string } = {}) {
    super(detail === undefined ? message : `${message}: ${detail}`, { cause });
    this.name = 'StoreError';
    this.code = code;
    this.summary = message;
  }
}
