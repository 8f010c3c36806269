// What a copy from one adapter to another moves: every table, each with its columns in one order, and rows as plain
// values. Either side knows its own SQL and this, and nothing of the other.

import type { ColumnKind } from './codec.ts';
import { CHANGEABLE_KINDS } from './destination-rows.ts';
import { ACTIVITY_KINDS } from './stats-rows.ts';

export type CopiedValue = Uint8Array | string | number | boolean | null;
/** In the order of the table's columns. */
export type CopiedRow = readonly CopiedValue[];

type Columns = Readonly<Record<string, ColumnKind>>;

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
} satisfies Columns;

/** Copied in this order: what others refer to comes first. */
const COLUMNS = {
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
  destination_activity: ACTIVITY_KINDS,
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
} satisfies Record<string, Columns>;

export type CopiedTableName = keyof typeof COLUMNS;
export type CopiedTable = { name: CopiedTableName; columns: Columns };

export const COPIED_TABLES: readonly CopiedTable[] = Object.entries(COLUMNS).map(([name, columns]) => ({
  name: name as CopiedTableName,
  columns,
}));

export type TableProgress = { rows: number; position: string | null; isDone: boolean };
export type CopyProgress = {
  sourceId: string;
  isComplete: boolean;
  tables: Partial<Record<CopiedTableName, TableProgress>>;
};
