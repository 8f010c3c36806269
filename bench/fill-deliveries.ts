// History as the service writes it, straight into its stopped store: temporary tables hold the chunk (history.ts), and
// each time it is written is four INSERT … SELECT.
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { firstIdBytesAt } from '../src/model/id.ts';
import { makeChunk, TIME_BYTES, timesOf, type ChunkDelivery, type Growth } from './history.ts';
import { ENVIRONMENT } from './store-file.ts';
import type { Recipient } from './stories.ts';

const CHUNKS_PER_TRANSACTION = 100;

const TEMPLATES = `
  CREATE TEMP TABLE chunk_events (suffix BLOB, type TEXT);
  CREATE TEMP TABLE chunk_deliveries (
    suffix BLOB, event_suffix BLOB, destination INTEGER, subscription_id BLOB, status INTEGER, dead_reason INTEGER,
    rev INTEGER, due_after INTEGER, position INTEGER, codes BLOB, updated_after INTEGER, completed_after INTEGER);
  CREATE TEMP TABLE chunk_attempts (
    suffix BLOB, n INTEGER, started_after INTEGER, duration INTEGER, outcome INTEGER, code INTEGER, headers TEXT,
    body BLOB, error TEXT);`;

// ?1 is the time as the first bytes of ids have it, ?2 the same in ms.
const INSERTS = [
  `INSERT INTO events (environment, id, type, occurred_at)
   SELECT ${ENVIRONMENT}, CAST(?1 || suffix AS BLOB), type, ?2 FROM chunk_events`,
  `INSERT INTO deliveries (id, environment, event_id, destination, subscription_id, origin, status, dead_reason, rev,
                           due_at, schedule_position, attempt_count, response_codes, updated_at, completed_at)
   SELECT CAST(?1 || suffix AS BLOB), ${ENVIRONMENT}, CAST(?1 || event_suffix AS BLOB), destination, subscription_id,
          0, status, dead_reason, rev, ?2 + due_after, position, rev, codes, ?2 + updated_after, ?2 + completed_after
   FROM chunk_deliveries`,
  `INSERT INTO attempts (delivery_id, n, trigger, started_at, duration_ms, outcome, response_code, response_headers,
                         response_body, response_truncated, error)
   SELECT CAST(?1 || suffix AS BLOB), n, 0, ?2 + started_after, duration, outcome, code, headers, body, 0, error
   FROM chunk_attempts`,
];
const INSERT_BODIES = `
  INSERT INTO event_bodies (event_id, environment, body)
  SELECT CAST(?1 || suffix AS BLOB), ${ENVIRONMENT}, ?2 FROM chunk_events`;

export function growHistory(db: DatabaseSync, growth: Growth): void {
  db.exec(TEMPLATES);
  fillTemplates(db, growth.recipients);
  const inserts = INSERTS.map((sql) => db.prepare(sql));
  const insertBodies = db.prepare(INSERT_BODIES);
  const body = Buffer.from(growth.body);
  for (const [chunk, time] of timesOf(growth).entries()) {
    if (chunk % CHUNKS_PER_TRANSACTION === 0 && db.isTransaction) db.exec('COMMIT');
    if (!db.isTransaction) db.exec('BEGIN');
    const prefix = firstIdBytesAt(time).slice(0, TIME_BYTES);
    for (const insert of inserts) insert.run(prefix, time);
    insertBodies.run(prefix, body);
  }
  if (db.isTransaction) db.exec('COMMIT');
}

function fillTemplates(db: DatabaseSync, recipients: readonly Recipient[]): void {
  const into = (table: string, columns: number) => {
    const statement = db.prepare(`INSERT INTO ${table} VALUES (${Array(columns).fill('?').join(', ')})`);
    return (...values: SQLInputValue[]): void => void statement.run(...values);
  };
  const addEvent = into('chunk_events', 2);
  const addDelivery = into('chunk_deliveries', 12);
  const addAttempt = into('chunk_attempts', 9);
  const { events, deliveries } = makeChunk(recipients);
  for (const { suffix, type } of events) addEvent(suffix, type);
  for (const delivery of deliveries) {
    addDelivery(...deliveryColumns(delivery));
    for (const attempt of delivery.story.attempts) addAttempt(delivery.suffix, ...attempt);
  }
}

function deliveryColumns({ suffix, eventSuffix, recipient, story }: ChunkDelivery): SQLInputValue[] {
  const { status, deadReason, attempts, dueAfter, position, codes, updatedAfter, completedAfter } = story;
  return [
    ...[suffix, eventSuffix, recipient.key, recipient.subscriptionId],
    ...[status, deadReason, attempts.length, dueAfter, position, codes, updatedAfter, completedAfter],
  ];
}
