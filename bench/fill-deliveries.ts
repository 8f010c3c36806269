// History as the service writes it, straight into its stopped store: events with bodies, their deliveries, and every
// attempt of those. It grows in chunks, each of one millisecond of the past month, in the order of ids.
//
// A chunk is made once, as temporary tables that hold everything but the time; then each is four INSERT … SELECT.
import { randomBytes } from 'node:crypto';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { firstIdBytesAt, layOutIdBytes } from '../src/model/id.ts';
import { ENVIRONMENT } from './store-file.ts';
import { storyOf } from './stories.ts';
import type { Recipient, Story } from './stories.ts';

const EVENTS_PER_CHUNK = 200;
const FAN_OUT = 5;
export const DELIVERIES_PER_CHUNK = EVENTS_PER_CHUNK * FAN_OUT;
const DAY_MS = 86_400_000;
/** The oldest rows are younger than the retention of bodies: nothing must be erased while something is measured. */
const OLDEST_MS = 29 * DAY_MS;
/** By then the schedule of the newest is over, too. */
const NEWEST_MS = 4 * DAY_MS;
const CHUNKS_PER_TRANSACTION = 100;
const TIME_BYTES = 6;

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

/** Makes it `to` deliveries, of which `from` are there already; `total` is what it will ever be grown to. */
export function growHistory(
  db: DatabaseSync,
  options: { recipients: readonly Recipient[]; body: string; from: number; to: number; total: number },
): void {
  db.exec(TEMPLATES);
  fillTemplates(db, options.recipients);
  const inserts = INSERTS.map((sql) => db.prepare(sql));
  const insertBodies = db.prepare(INSERT_BODIES);
  const body = Buffer.from(options.body);
  const chunks = options.total / DELIVERIES_PER_CHUNK;
  const now = Date.now();
  for (let chunk = options.from / DELIVERIES_PER_CHUNK; chunk < options.to / DELIVERIES_PER_CHUNK; chunk++) {
    if (chunk % CHUNKS_PER_TRANSACTION === 0 && db.isTransaction) db.exec('COMMIT');
    if (!db.isTransaction) db.exec('BEGIN');
    const age = OLDEST_MS - ((OLDEST_MS - NEWEST_MS) * chunk) / chunks;
    const time = Math.round(now - age);
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
  const [addEvent, addDelivery, addAttempt] = [
    into('chunk_events', 2),
    into('chunk_deliveries', 12),
    into('chunk_attempts', 9),
  ];
  const suffixes = createSuffixes();
  for (let event = 0; event < EVENTS_PER_CHUNK; event++) {
    const eventSuffix = suffixes();
    addEvent(eventSuffix, `history.type${event % 20}`);
    for (let i = 0; i < FAN_OUT; i++) {
      const index = event * FAN_OUT + i;
      const recipient = recipients[index % recipients.length]!;
      const suffix = suffixes(recipient.shard);
      const story = storyOf(recipient, index);
      addDelivery(suffix, eventSuffix, ...deliveryColumns(recipient, story));
      for (const attempt of story.attempts) addAttempt(suffix, ...attempt);
    }
  }
}

function deliveryColumns({ key, subscriptionId }: Recipient, story: Story): SQLInputValue[] {
  const { status, deadReason, attempts, dueAfter, position, codes, updatedAfter, completedAfter } = story;
  return [
    ...[key, subscriptionId, status, deadReason, attempts.length, dueAfter, position, codes],
    ...[updatedAfter, completedAfter],
  ];
}

/** What follows the time in ids that are made one after the other within a millisecond. */
function createSuffixes(): (shard?: number) => Uint8Array {
  let counter = 0;
  return (shard = Math.floor(Math.random() * 256)) => {
    const bytes = layOutIdBytes({ time: 0, counter: counter++, shard, randomBytes: randomBytes(16) });
    return bytes.slice(TIME_BYTES);
  };
}
