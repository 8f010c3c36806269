// What the HTTP layer is given by the composition root: everything that is not HTTP.
import type { Acceptor } from '../accept/accept.ts';
import type { Mode } from '../model/api-key.ts';
import type { TestAttempt } from '../model/attempt.ts';
import type { ClusterState } from '../model/cluster-state.ts';
import type { OpenDelivery } from '../model/delivery.ts';
import type { ConfigurationChange, DestinationWithKeys } from '../model/destination.ts';
import type { Operations } from '../operate/operations.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Ids } from '../runtime/ids.ts';
import type { Log } from '../runtime/log.ts';
import type { Random } from '../runtime/random.ts';
import type { StatsAnswers } from '../stats/stats.ts';
import type { Store, StoreError, ToHandOver } from '../store/store.ts';
import type { Hub } from '../stream/hub.ts';
import type { Authenticator } from './auth.ts';
import type { BuildReader } from './dashboard/build.ts';
import type { AttemptLimit } from './session/attempt-limit.ts';
import type { Sessions } from './session/sessions.ts';
import type { SignInLinks } from './session/sign-in-links.ts';

/** Closed lists all three: `route` is the template of a path, never the path. */
export type Answer = { method: string; route: string; status: number };

type ProbeResult = 'reachable' | 'unreachable' | 'no_descriptors' | 'rate_limited';

export type ApiServices = {
  store: Store;
  stats: StatsAnswers;
  acceptor: Pick<Acceptor, 'accept' | 'begin' | 'replay'>;
  authenticator: Authenticator;
  operations: Operations;
  clock: Clock;
  random: Random;
  ids: Ids;
  log: Pick<Log, 'isLevelEnabled' | 'debug' | 'error'>;
  /**
   * Resolves when every node honours a change that was just committed; rejects with ApiError `unavailable` when it
   * is stored but not confirmed in time. `destinationId`: the destination that changed, null for anything else.
   */
  confirmChange: (change: ConfigurationChange) => Promise<void>;
  /** Hands on an unfinished delivery that is due (after a manual retry or a DLQ replay). */
  dispatch: (delivery: OpenDelivery, from: ToHandOver) => void;
  /** What of a request's `traceparent` is kept with its events. Absent: no traces are asked for. */
  keepTraceparent?: ((header: string | string[] | undefined) => string | null) | undefined;
  streams: Pick<Hub, 'open' | 'endStreams'>;
  /** What is wrong with a URL as far as the URL itself can tell: a sentence for its owner, or null. */
  checkUrl: (url: URL, mode: Mode) => string | null;
  /** Connects to a URL as deliveries would, sending nothing. Null: new destinations are not probed. */
  probe: null | ((request: { environment: number; mode: Mode; url: URL }) => Promise<ProbeResult>);
  /** The JSON of the answer to `POST /v1/explain`. Rejects with ApiError `rate_limited` or `unavailable`. */
  explain: (request: { environment: number; type: string; bytes: Uint8Array }) => Promise<Uint8Array>;
  /** Makes one request that counts nowhere. Rejects with ApiError `rate_limited` or `unavailable`. */
  testDestination: (
    destination: DestinationWithKeys,
    event: { type: string; body: Uint8Array },
  ) => Promise<TestAttempt>;
  /** Who takes part, and what is still to be sent. */
  readCluster: () => Promise<ClusterReport>;
  readiness: () => { ready: boolean; reasons: string[] };
  /** Prometheus text. */
  metricsText: () => Promise<string>;
  /** Called for every request, and every event of a batch, that is answered 503 for it. */
  onStoreAway: (error: StoreError) => void;
  /** Called once for every request that was answered. */
  onAnswered: (answer: Answer) => void;
  /** What `GET /metrics` asks for as a bearer token; null: open. */
  metricsToken: string | null;
  /** Null: it is not served, and nobody can sign in. */
  dashboard: Dashboard | null;
  limits: ApiLimits;
  /** Signs cursors; the same on every node. */
  cursorKey: Uint8Array;
  version: string;
};

export type Dashboard = {
  build: BuildReader;
  sessions: Sessions;
  links: SignInLinks;
  attempts: AttemptLimit;
  /** The names that it is served under, besides this machine's. */
  hosts: readonly string[];
};

type ClusterReport = ClusterState & {
  /** Unfinished deliveries. */
  backlog: number;
};

type ApiLimits = {
  /** Destinations in an environment. */
  maxDestinations: number;
  /** Subscriptions in an environment. */
  maxSubscriptions: number;
  /** The body of an event older than this is gone, and so is the way to send it again. */
  bodyRetentionMs: number;
  /** Bytes of all requests being read at one time; more are refused with 503. */
  requestBytesBudget: number;
};
