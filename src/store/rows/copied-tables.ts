// What a copy from one adapter to another moves: every table, each with its columns in one order, and rows as plain
// values. Either side knows its own SQL and this, and nothing of the other.

import type { ColumnKind } from './codec.ts';
import { CHANGEABLE_KINDS } from './destination-rows.ts';

export type CopiedValue = Uint8Array | string | number | boolean | null;
/** In the order of the table's columns. */
export type CopiedRow = readonly CopiedValue[];

export type CopiedTable = { name: CopiedTableName; columns: Readonly<Record<string, ColumnKind>> };

/** Copied in this order: what others refer to comes first. */
export const COPIED_TABLE_NAMES = [
  'accounts',
  'environments',
  'api_keys',
  'destinations',
  'signing_keys',
  'destination_health',
  'subscriptions',
  'idempotency',
  'events',
  'event_bodies',
  'open_deliveries',
  'done_deliveries',
  'attempts',
  'stats',
  'destination_activity',
  'operations',
] as const;

export type CopiedTableName = (typeof COPIED_TABLE_NAMES)[number];

const DELIVERY_COLUMNS = {
  id: 'id',
  environment: 'integer',
  event_id: 'id',
  destination_id: 'id',
  subscription_id: 'id',
  origin: 'integer',
  status: 'integer',
  dead_reason: 'integer',
  rev: 'integer',
  schedule_position: 'integer',
  attempt_count: 'integer',
  response_codes: 'bytes',
  updated_at: 'integer',
  completed_at: 'integer',
} as const satisfies CopiedTable['columns'];

const COLUMNS: Readonly<Record<CopiedTableName, CopiedTable['columns']>> = {
  accounts: { id: 'integer', name: 'text' },
  environments: {
    id: 'integer',
    account_id: 'integer',
    mode: 'integer',
    config_version: 'integer',
    auth_version: 'integer',
    destination_count: 'integer',
    subscription_count: 'integer',
  },
  api_keys: {
    id: 'id',
    environment: 'integer',
    name: 'words',
    scopes: 'text',
    prefix: 'text',
    last4: 'text',
    hash: 'bytes',
    created_at: 'integer',
    expires_at: 'integer',
    last_used_at: 'integer',
  },
  destinations: {
    id: 'id',
    environment: 'integer',
    version: 'integer',
    ...CHANGEABLE_KINDS,
    created_at: 'integer',
    updated_at: 'integer',
    deleted_at: 'integer',
    is_settled: 'flag',
  },
  signing_keys: { destination_id: 'id', id: 'id', secret: 'bytes', created_at: 'integer', expires_at: 'integer' },
  destination_health: {
    destination_id: 'id',
    failing_since: 'integer',
    failure_count: 'integer',
    held_until: 'integer',
  },
  subscriptions: {
    id: 'id',
    environment: 'integer',
    destination_id: 'id',
    version: 'integer',
    event_type: 'text',
    filter: 'text',
    identity: 'bytes',
    created_at: 'integer',
    deleted_at: 'integer',
  },
  idempotency: { environment: 'integer', key: 'text', event_id: 'id', fingerprint: 'bytes', expires_at: 'integer' },
  events: {
    id: 'id',
    environment: 'integer',
    type: 'text',
    idempotency_key: 'text',
    occurred_at: 'integer',
    traceparent: 'text',
  },
  event_bodies: { event_id: 'id', body: 'body' },
  open_deliveries: {
    ...DELIVERY_COLUMNS,
    due_at: 'integer',
    scheduled_at: 'integer',
    fallback_status: 'integer',
  },
  done_deliveries: DELIVERY_COLUMNS,
  attempts: {
    delivery_id: 'id',
    n: 'integer',
    trigger: 'integer',
    started_at: 'integer',
    duration_ms: 'integer',
    outcome: 'integer',
    response_code: 'integer',
    response_headers: 'text',
    response_body: 'body',
    response_truncated: 'flag',
    error: 'words',
  },
  stats: {
    span: 'integer',
    environment: 'integer',
    kind: 'integer',
    subject: 'bytes',
    at: 'integer',
    writer: 'integer',
    counts: 'bytes',
  },
  destination_activity: {
    destination_id: 'id',
    environment: 'integer',
    reported_at: 'integer',
    last_attempt_at: 'integer',
    last_success_at: 'integer',
    failed_at: 'integer',
    failed_outcome: 'integer',
    failed_code: 'integer',
    failed_error: 'words',
    in_flight: 'integer',
    in_flight_limit: 'integer',
  },
  operations: {
    id: 'id',
    environment: 'integer',
    request: 'text',
    identity: 'bytes',
    status: 'integer',
    rev: 'integer',
    position: 'text',
    total: 'integer',
    done: 'integer',
    failed: 'integer',
    skipped: 'integer',
    created_at: 'integer',
    updated_at: 'integer',
    finished_at: 'integer',
    created_by: 'id',
  },
};

export const COPIED_TABLES: readonly CopiedTable[] = COPIED_TABLE_NAMES.map((name) => ({
  name,
  columns: COLUMNS[name],
}));

export type TableProgress = { rows: number; position: string | null; isDone: boolean };
export type CopyProgress = {
  sourceId: string;
  isComplete: boolean;
  tables: Partial<Record<CopiedTableName, TableProgress>>;
};
