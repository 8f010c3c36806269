// Endpoints that the service may not have yet: while one answers 404, what shows it stays hidden.
import type { Schemas } from './client.ts';

/** Null: there was nothing to measure. */
export type Percentiles = { p50: number | null; p95: number | null; p99: number | null };

export type StatsPoint = {
  at: string;
  events_accepted: number;
  deliveries_scheduled: number;
  attempts: Partial<Record<Schemas['Outcome'], number>>;
  deliveries_succeeded: number;
  deliveries_dead: number;
  first_attempt_seconds: Percentiles;
  attempt_seconds: Percentiles;
};
export type Step = '1m' | '5m' | '1h' | '1d';
export type Stats = { step: Step; data: StatsPoint[] };

export type HealthState = 'healthy' | 'failing' | 'paused' | 'idle';
export type Trouble = {
  destination_id: string;
  name: string | null;
  state: HealthState;
  summary: string;
  unfinished: number;
  oldest_due_at: string | null;
};
export type StatsNow = {
  events_per_second: number;
  attempts_per_second: number;
  success_rate: number | null;
  in_flight: number;
  pending: number;
  retrying: number;
  held: number;
  oldest_due_at: string | null;
  dead_24h: number;
  destinations: { active: number; paused: number; failing: number };
  troubles: Trouble[];
};

export type Health = {
  state: HealthState;
  summary: string;
  success_rate_1h: number | null;
  success_rate_24h: number | null;
  attempt_seconds: Percentiles;
  consecutive_failures: number;
  failing_since: string | null;
  last_success_at: string | null;
  last_failure: { at: string; outcome: Schemas['Outcome']; response_code: number | null; error: string | null } | null;
  unfinished: number;
  oldest_due_at: string | null;
  in_flight: number;
  in_flight_limit: number;
  held_until: string | null;
  next_attempt_at: string | null;
};

export type FilterFinding = { path: string; operator: string; expected: unknown; found: unknown; holds: boolean };
export type Explained = {
  subscription_id: string;
  destination_id: string;
  matches: boolean;
  pattern_matches: boolean;
  filter: FilterFinding[];
};

export type TestedAttempt = Schemas['Attempt'] & { request: { headers: Record<string, string[]>; body: string } };

export type OperationStatus = 'running' | 'paused' | 'done' | 'cancelled' | 'failed';
export type Operation = {
  id: string;
  kind: 'dlq_replay' | 'destination_recovery' | 'event_replay';
  status: OperationStatus;
  request: Record<string, unknown>;
  total: number;
  done: number;
  failed: number;
  skipped: number;
  created_at: string;
  updated_at: string;
  finished_at: string | null;
  created_by: string;
};
export type DryRun = { count: number; oldest: string | null; newest: string | null };

type Answers<T> = { 200: { headers: Record<string, unknown>; content: { 'application/json': T } } };
type Parameters = { query?: never; header?: never; path?: never; cookie?: never };
type Get<T, P = Parameters> = { parameters: Omit<Parameters, keyof P> & P; responses: Answers<T> };
type Post<T, B, P = Parameters> = Get<T, P> & { requestBody?: { content: { 'application/json': B } } };
type ById = { path: { id: string } };
type Pacing = { dry_run?: boolean; per_second?: number };
type Bulk<B, P = Parameters> = { post: Post<Operation | DryRun, B & Pacing, P> };

export type ComingPaths = {
  '/v1/stats': {
    get: Get<Stats, { query: { since: string; until?: string; step: Step; destination_id?: string } }>;
  };
  '/v1/stats/now': { get: Get<StatsNow> };
  '/v1/destinations/{id}/health': { get: Get<Health, ById> };
  '/v1/destinations/{id}/test': { post: Post<TestedAttempt, { type?: string; body?: object }, ById> };
  '/v1/explain': {
    post: Post<{ subscriptions: Explained[] }, { type: string; body: object } | { event_id: string }>;
  };
  '/v1/dlq/replay': {
    post: Post<
      Operation | DryRun,
      { destination_id?: string; event_type?: string; dead_reason?: string; since?: string; until?: string } & Pacing
    >;
  };
  '/v1/destinations/{id}/recover': Bulk<{ since: string; until?: string }, ById>;
  '/v1/operations': {
    get: Get<
      { data: Operation[]; has_more: boolean; next_cursor: string | null },
      { query?: { cursor?: string; limit?: number } }
    >;
  };
  '/v1/operations/{id}': { get: Get<Operation, ById> };
  '/v1/operations/{id}/cancel': { post: Post<Operation, never, ById> };
  '/v1/operations/{id}/pause': { post: Post<Operation, never, ById> };
  '/v1/operations/{id}/resume': { post: Post<Operation, never, ById> };
};
