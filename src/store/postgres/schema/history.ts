// Versions count the changes of one history. A standby that was promoted may not have the last changes of the primary
// before it, and a backup has none since it was made: the lost versions would be given out again, for other changes,
// and nodes that have followed the lost ones would take these for what they know. PostgreSQL goes on in another
// timeline then, or another server does. So the first connection that finds this begins a new history, before anything
// else is done there: its versions are beyond all that were lost, and whoever follows reads everything anew. A server
// that was only started again is in the timeline that it was in.
import type { ClientBase } from 'pg';
import { isRefusal, isWaitOver } from '../wire/errors.ts';

// Of a segment's name the first eight digits are the timeline.
const TIMELINE = `
  convert_to(
    (SELECT system_identifier FROM pg_control_system())::text || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8),
    'UTF8'
  )`;

const IS_KNOWN = `SELECT 1 FROM meta WHERE name = 'timeline' AND value = ${TIMELINE}`;

const REMEMBER = `INSERT INTO meta (name, value) VALUES ('timeline', ${TIMELINE}) ON CONFLICT DO NOTHING`;

// Who comes second waits for the first one's commit, and finds nothing left to do.
const REPLACE = `
  INSERT INTO meta AS m (name, value) VALUES ('timeline', ${TIMELINE})
  ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE m.value <> excluded.value`;

// Microseconds since 1970, for what was lost may have been a new history too. A double holds them until 2255.
const NOW = '(extract(epoch FROM now()) * 1000000)::int8';

const BEGIN_HISTORY = `
  INSERT INTO meta (name, value) VALUES ('history', convert_to(${NOW}::text, 'UTF8'))
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

// Where nothing was ever made nothing was lost, and a copy of an embedded store finds the database empty.
const RAISE = `
  UPDATE environments
  SET config_version = greatest(config_version + 1, ${NOW}), auth_version = greatest(auth_version + 1, ${NOW})
  WHERE config_version > 0 OR auth_version > 0`;

/** At a start, when nothing is in memory: any history will do. */
export async function rememberTimeline(client: ClientBase): Promise<void> {
  await client.query('SAVEPOINT timeline');
  try {
    await client.query(REMEMBER);
  } catch (error) {
    if (!saysNoTimeline(error)) throw error;
    await client.query('ROLLBACK TO SAVEPOINT timeline');
  }
}

/** On a new connection, before it is used. */
export async function followTimeline(client: ClientBase): Promise<void> {
  try {
    if ((await client.query(IS_KNOWN)).rowCount === 1) return;
  } catch (error) {
    if (saysNoTimeline(error)) return;
    throw error;
  }
  await client.query('BEGIN');
  try {
    if ((await client.query(REPLACE)).rowCount === 1) {
      await client.query(BEGIN_HISTORY);
      await client.query(RAISE);
    }
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

/** Where the storage is not PostgreSQL's own there may be no log to name; a failover loses nothing there. */
function saysNoTimeline(error: unknown): boolean {
  return isRefusal(error) && !isWaitOver(error);
}
