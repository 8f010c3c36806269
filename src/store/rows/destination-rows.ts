// Destinations and signing keys between rows and values. Header values and signing secrets are sealed here and
// nowhere else, each bound to its row.
import type { Destination, SigningKey } from '../../model/destination.ts';
import { formatId, type DestinationId } from '../../model/id.ts';
import type { RetryPolicy } from '../../model/retry-policy.ts';
import type { Sealer } from '../../runtime/sealer.ts';
import { StoreError, type Store } from '../store.ts';
import {
  destinationStatusCode,
  nameOrNull,
  numberOrNull,
  pausedReasonCode,
  signatureStyleCode,
  type ColumnKind,
} from './codec.ts';

export type DestinationRow = {
  id: Uint8Array;
  environment: number;
  url: string;
  name: string | null;
  status: number;
  paused_reason: number | null;
  retry_policy: string | null;
  max_in_flight: number;
  rate_per_second: number | null;
  headers: Uint8Array | null;
  signature_style: number;
  metadata: string;
  created_at: number;
  updated_at: number;
  deleted_at: number | null;
};

type ChangeableColumn = Exclude<
  keyof DestinationRow,
  'id' | 'environment' | 'created_at' | 'updated_at' | 'deleted_at'
>;
type ChangeableValue = string | number | Uint8Array | null;
type Changeable = { kind: ColumnKind; valueOf: (destination: Destination, sealer: Sealer) => ChangeableValue };

/** What may change of a destination, in the order in which both adapters write it and a copy moves it. */
const CHANGEABLE: Readonly<Record<ChangeableColumn, Changeable>> = {
  url: { kind: 'text', valueOf: ({ url }) => url },
  name: { kind: 'words', valueOf: ({ name }) => name },
  status: { kind: 'integer', valueOf: ({ status }) => destinationStatusCode.numberOf(status) },
  paused_reason: { kind: 'integer', valueOf: ({ pausedReason }) => numberOrNull(pausedReasonCode, pausedReason) },
  retry_policy: {
    kind: 'text',
    valueOf: ({ retryPolicy }) => (retryPolicy === null ? null : JSON.stringify(retryPolicy)),
  },
  max_in_flight: { kind: 'integer', valueOf: ({ maxInFlight }) => maxInFlight },
  rate_per_second: { kind: 'real', valueOf: ({ ratePerSecond }) => ratePerSecond },
  // Sealed under the master key and bound to the id, both of which a copy keeps: the bytes go over as they are.
  headers: { kind: 'bytes', valueOf: ({ headers, id }, sealer) => sealHeaders(headers, id, sealer) },
  signature_style: {
    kind: 'integer',
    valueOf: ({ signatureStyle }) => signatureStyleCode.numberOf(signatureStyle),
  },
  metadata: { kind: 'text', valueOf: ({ metadata }) => metadata },
};

export const CHANGEABLE_COLUMNS: readonly string[] = Object.keys(CHANGEABLE);

export const CHANGEABLE_KINDS: Readonly<Record<string, ColumnKind>> = Object.fromEntries(
  Object.entries(CHANGEABLE).map(([name, { kind }]) => [name, kind]),
);

const AROUND = 'id, environment, created_at, updated_at, deleted_at';
/** What DestinationRow has of a row. */
export const DESTINATION_COLUMNS = `${AROUND}, ${CHANGEABLE_COLUMNS.join(', ')}`;

/** In the order of CHANGEABLE_COLUMNS. */
export function changeableValues(destination: Destination, sealer: Sealer): ChangeableValue[] {
  return Object.values(CHANGEABLE).map(({ valueOf }) => valueOf(destination, sealer));
}

export function toDestination(row: DestinationRow, sealer: Sealer): Destination {
  const id = formatId('dst', row.id);
  return {
    id,
    environment: row.environment,
    url: row.url,
    name: row.name,
    status: destinationStatusCode.nameOf(row.status),
    pausedReason: nameOrNull(pausedReasonCode, row.paused_reason),
    retryPolicy: row.retry_policy === null ? null : (JSON.parse(row.retry_policy) as RetryPolicy),
    maxInFlight: row.max_in_flight,
    ratePerSecond: row.rate_per_second,
    headers: openHeaders(row.headers, id, sealer),
    signatureStyle: signatureStyleCode.nameOf(row.signature_style),
    metadata: row.metadata,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function sealHeaders(headers: Record<string, string>, id: DestinationId, sealer: Sealer): Uint8Array | null {
  if (Object.keys(headers).length === 0) return null;
  return sealer.seal(Buffer.from(JSON.stringify(headers)), `headers of ${id}`);
}

function openHeaders(sealed: Uint8Array | null, id: DestinationId, sealer: Sealer): Record<string, string> {
  if (sealed === null) return {};
  const text = Buffer.from(openSealed(sealer, sealed, `headers of ${id}`)).toString();
  return JSON.parse(text) as Record<string, string>;
}

export type SigningKeyRow = { id: Uint8Array; secret: Uint8Array; created_at: number; expires_at: number | null };

/**
 * A destination's, newest first; `rows` by id, the latest first. The newest is the one without an end, also where its
 * id is from before another's: the clock may have been set back between the two.
 */
export function toSigningKeys(rows: readonly SigningKeyRow[], sealer: Sealer): SigningKey[] {
  const keys = rows.map((row) => toSigningKey(row, sealer));
  return keys.sort((a, b) => Number(b.expiresAt === null) - Number(a.expiresAt === null));
}

function toSigningKey(row: SigningKeyRow, sealer: Sealer): SigningKey {
  const id = formatId('sgk', row.id);
  return {
    id,
    secret: openSealed(sealer, row.secret, `secret of ${id}`),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}

function openSealed(sealer: Sealer, sealed: Uint8Array, context: string): Uint8Array {
  const opened = sealer.open(sealed, context);
  // The master key itself was checked at open, so the row is damaged.
  if (opened === null) throw new StoreError('corrupt', `the ${context} cannot be read: restore the last backup`);
  return opened;
}

// ── Changes ────────────────────────────────────────────────────────────────────────────────────────────────

type Change = Parameters<Store['updateDestination']>[0]['change'];

/** What the destination is after a change of some of its members. */
export function applyChange(before: Destination, change: Change, now: number): Destination {
  const after: Destination = {
    ...before,
    ...withoutAbsent(change),
    headers: change.headers === undefined ? before.headers : mergeHeaders(before.headers, change.headers),
    updatedAt: Math.max(before.updatedAt, now),
  };
  if (change.status !== undefined) after.pausedReason = change.status === 'paused' ? 'manual' : null;
  return after;
}

/** A member that is there but undefined is absent too: spreading it would erase what is stored. */
function withoutAbsent<T extends object>(change: T): T {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)) as T;
}

function mergeHeaders(before: Record<string, string>, change: Record<string, string | null>): Record<string, string> {
  const stored = new Map(Object.entries(before).map(([name, value]) => [name.toLowerCase(), value]));
  const kept = Object.entries(change).map(([name, value]) => [name, value ?? stored.get(name.toLowerCase())]);
  return Object.fromEntries(kept.filter(([, value]) => value !== undefined)) as Record<string, string>;
}
