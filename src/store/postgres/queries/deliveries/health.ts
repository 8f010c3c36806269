// The trouble of destinations that outlives a restart.
import type { DestinationHealth } from '../../../../model/destination.ts';
import { formatId, idBytes, idShard } from '../../../../model/id.ts';
import { toHealth, type HealthRow } from '../../../rows/stats-rows.ts';
import type { Read } from '../../context.ts';
import {
  ParameterRows,
  insertOf,
  statement,
  statementOfEveryShard,
  statementOfOneMachine,
  upsertStatement,
  type BatchRow,
} from '../../wire/statement.ts';
import type { Tx } from '../../wire/transaction.ts';
import { encodeArray } from '../../wire/values.ts';

// There are as many rows as destinations with trouble, and whoever owns some asks once at its start.
const SELECT_ALL = statementOfEveryShard<HealthRow>(
  'destination_health_all',
  `SELECT h.destination_id, h.failing_since, h.failure_count, h.held_until
   FROM destination_health h JOIN destinations t ON t.id = h.destination_id
   WHERE t.deleted_at IS NULL AND (h.failing_since IS NOT NULL OR h.failure_count > 0 OR h.held_until IS NOT NULL)`,
);

const COLUMNS = {
  destination_id: 'uuid',
  failing_since: 'int8',
  failure_count: 'int4',
  held_until: 'int8',
  reported_at: 'int8',
} as const;

// Batches are written side by side, so an older one may come later.
const ON_CONFLICT = `
  ON CONFLICT (destination_id, shard) DO UPDATE
  SET failing_since = excluded.failing_since, failure_count = excluded.failure_count,
      held_until = excluded.held_until, reported_at = excluded.reported_at
  WHERE h.reported_at <= excluded.reported_at`;

const UPSERT = upsertStatement<never>('destination_health_upsert', COLUMNS, {
  into: 'destination_health AS h',
  onConflict: ON_CONFLICT,
});

const LIVE_ROWS = new ParameterRows({ shard: 'int2', ...COLUMNS }, 1);

/** The same, of those alone whose destinations are not deleted. */
const UPSERT_LIVE = statementOfOneMachine<never>(
  'destination_health_at_once',
  `${insertOf('destination_health AS h', COLUMNS).write(LIVE_ROWS.as())}
   WHERE EXISTS (SELECT FROM destinations t WHERE t.id = r.destination_id AND t.deleted_at IS NULL) ${ON_CONFLICT}`,
);

const SELECT_LIVE = statement<{ id: Uint8Array }>(
  'destinations_live',
  'SELECT id FROM destinations WHERE id = ANY ($1::uuid[]) AND deleted_at IS NULL',
);

export const readHealth: Read<'readHealth'> = ({ read }) =>
  read(async (tx) => (await tx.run(SELECT_ALL)).map(toHealth));

/**
 * Which of their destinations are not deleted. Sent before anything is written, so that nothing waits for the answer;
 * what a deletion that comes in between leaves behind goes with the destination's tombstone.
 */
export function selectLive(tx: Tx, health: readonly DestinationHealth[]): Promise<{ id: Uint8Array }[]> {
  if (health.length === 0) return Promise.resolve([]);
  const ids = health.map((one) => idBytes(one.destinationId));
  return tx.run(SELECT_LIVE, [encodeArray('uuid', ids)]);
}

/** `live`: whose destinations are not deleted. Sent, not awaited: the transaction's commit sees an error. */
export function writeHealth(
  tx: Tx,
  health: readonly DestinationHealth[],
  { live, now }: { live: readonly { id: Uint8Array }[]; now: number },
): void {
  const isLive = new Set(live.map(({ id }) => formatId('dst', id)));
  const kept = health.filter(({ destinationId }) => isLive.has(destinationId));
  void tx.batch(UPSERT, toRows(kept, now));
}

/** On one machine: the same in one statement. */
export function writeLiveHealth(tx: Tx, health: readonly DestinationHealth[], now: number): void {
  if (health.length > 0) void tx.run(UPSERT_LIVE, LIVE_ROWS.encode(toRows(health, now)));
}

/** In the order that all take their locks in. A row can be written once in a statement; the last report counts. */
function toRows(health: readonly DestinationHealth[], now: number): BatchRow[] {
  const last = new Map(health.map((one) => [one.destinationId, one]));
  return [...last.values()].sort((a, b) => (a.destinationId < b.destinationId ? -1 : 1)).map((one) => toRow(one, now));
}

function toRow({ destinationId, failingSince, failureCount, heldUntil }: DestinationHealth, now: number): BatchRow {
  const until = heldUntil === null ? null : Math.round(heldUntil);
  return [idShard(destinationId), idBytes(destinationId), failingSince, failureCount, until, now];
}
