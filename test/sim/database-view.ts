// The database as it is at this moment, past all latency: what the simulation holds the service against.
import { formatId, idBytes, type DeliveryId, type DestinationId, type EventId } from '../../src/model/id.ts';
import { deadReasonCode, nameOrNull, outcomeCode } from '../../src/store/rows/codec.ts';
import { openDatabase, prepare } from '../../src/store/sqlite/file/database.ts';

export type DeliveryRow = {
  id: DeliveryId;
  eventId: EventId;
  destinationId: DestinationId;
  /** 0 pending, 1 retrying, 2 succeeded, 3 dead. */
  status: number;
  deadReason: string | null;
  dueAt: number | null;
  isForced: boolean;
  attemptCount: number;
  schedulePosition: number;
  completedAt: number | null;
};

export type DestinationRow = {
  environment: number;
  isPaused: boolean;
  isDeleted: boolean;
  maxInFlight: number;
  ratePerSecond: number | null;
  url: string;
  heldUntil: number;
};

export type FirstUnfinished = { id: DeliveryId; destinationId: DestinationId; dueAt: number; isForced: boolean };

type RawDelivery = {
  id: Uint8Array;
  event_id: Uint8Array;
  destination_id: Uint8Array;
  status: number;
  dead_reason: number | null;
  due_at: number | null;
  attempt_count: number;
  schedule_position: number;
  completed_at: number | null;
};

type RawDestination = {
  environment: number;
  status: number;
  deleted_at: number | null;
  max_in_flight: number;
  rate_per_second: number | null;
  url: string;
  held_until: number | null;
};

type Unfinished = { id: Uint8Array; due_at: number; updated_at: number };

const DELIVERIES = `
  SELECT d.id, d.event_id, t.id AS destination_id, d.status, d.dead_reason, d.due_at, d.attempt_count,
         d.schedule_position, d.completed_at
  FROM deliveries d JOIN destinations t ON t.key = d.destination`;

const DESTINATION = `
  SELECT t.environment, t.status, t.deleted_at, t.max_in_flight, t.rate_per_second, t.url, h.held_until
  FROM destinations t LEFT JOIN destination_health h ON h.destination = t.key
  WHERE t.id = ?`;

const LIVE_DESTINATIONS = 'SELECT key, id, status FROM destinations WHERE deleted_at IS NULL';

const FIRST_UNFINISHED = `
  SELECT id, due_at, updated_at FROM deliveries
  WHERE status <= 1 AND destination = ? AND due_at <= ? AND event_id >= ? ORDER BY due_at, id LIMIT 1`;

export type DatabaseView = ReturnType<typeof viewDatabase>;

/** Also keeps a database in memory alive while the store is closed. */
export function viewDatabase(path: string) {
  const db = openDatabase(path);
  const late = <Row>(sql: string) => {
    let statement: ReturnType<typeof prepare<Row>> | null = null;
    return () => (statement ??= prepare<Row>(db, sql));
  };
  const delivery = late<RawDelivery>(`${DELIVERIES} WHERE d.id = ?`);
  const destination = late<RawDestination>(DESTINATION);
  const live = late<{ key: number; id: Uint8Array; status: number }>(LIVE_DESTINATIONS);
  const first = late<Unfinished>(FIRST_UNFINISHED);
  const unfinished = late<{ n: number }>(`
    SELECT count(*) AS n FROM deliveries d JOIN destinations t ON t.key = d.destination
    WHERE d.status <= 1 AND t.deleted_at IS NULL`);
  const attempts = late<{ n: number; started_at: number; outcome: number; response_code: number | null }>(
    'SELECT n, started_at, outcome, response_code FROM attempts WHERE delivery_id = ? ORDER BY n',
  );

  const environment = late<{ config_version: number }>('SELECT config_version FROM environments WHERE id = ?');

  return {
    configVersion: (id: number): number => environment().get(id)!.config_version,
    delivery(id: string): DeliveryRow | undefined {
      const row = delivery().get(idBytes(id));
      return row === undefined ? undefined : toDeliveryRow(row);
    },
    destination(id: string): DestinationRow | undefined {
      const row = destination().get(idBytes(id));
      if (row === undefined) return undefined;
      return {
        environment: row.environment,
        isPaused: row.status === 1,
        isDeleted: row.deleted_at !== null,
        maxInFlight: row.max_in_flight,
        ratePerSecond: row.rate_per_second,
        url: row.url,
        heldUntil: row.held_until ?? 0,
      };
    },
    /** Of each destination the unfinished delivery that may go first, and since when; if paused, only a forced one. */
    firstUnfinished(sinceEvent: Uint8Array): FirstUnfinished[] {
      return live()
        .all()
        .flatMap(({ key, id, status }) => {
          const row = first().get(key, status === 0 ? Number.MAX_SAFE_INTEGER : 0, sinceEvent);
          if (row === undefined) return [];
          const isForced = row.due_at === 0;
          const dueAt = isForced ? row.updated_at : row.due_at;
          return [{ id: formatId('dlv', row.id), destinationId: formatId('dst', id), dueAt, isForced }];
        });
    },
    unfinishedCount: (): number => unfinished().get()!.n,
    attempts: (id: string) =>
      attempts()
        .all(idBytes(id))
        .map((row) => ({ ...row, outcome: outcomeCode.nameOf(row.outcome) })),
    close: () => db.close(),
  };
}

function toDeliveryRow(row: RawDelivery): DeliveryRow {
  return {
    id: formatId('dlv', row.id),
    eventId: formatId('evt', row.event_id),
    destinationId: formatId('dst', row.destination_id),
    status: row.status,
    deadReason: nameOrNull(deadReasonCode, row.dead_reason),
    dueAt: row.due_at,
    isForced: row.due_at === 0,
    attemptCount: row.attempt_count,
    schedulePosition: row.schedule_position,
    completedAt: row.completed_at,
  };
}
