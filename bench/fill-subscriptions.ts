// Subscriptions as the service writes them, straight into its stopped store.
import { hash } from 'node:crypto';
import type { Client } from 'pg';
import { filterIdentity } from '../src/match/filter/json.ts';
import { idBytes } from '../src/model/id.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { createIds } from '../src/runtime/ids.ts';
import { systemRandom } from '../src/runtime/random.ts';
import { fillDatabase } from './postgres.ts';
import type { Service } from './service.ts';
import { destinationKeys, ENVIRONMENT, fillStoreFile } from './store-file.ts';
import type { DatabaseSync } from 'node:sqlite';

const VERSION = `SELECT config_version AS version FROM environments WHERE id = ${ENVIRONMENT}`;

const INSERT = `
  INSERT INTO subscriptions (id, environment, destination, version, event_type, filter, identity, created_at)
  VALUES (?, ${ENVIRONMENT}, ?, ?, ?, ?, ?, ?)`;

const INSERT_ALL = `
  INSERT INTO subscriptions (id, environment, destination_id, version, event_type, filter, identity, created_at)
  SELECT id, ${ENVIRONMENT}, destination, version, event_type, filter, identity, created_at
  FROM unnest($1::uuid[], $2::uuid[], $3::int8[], $4::text[], $5::text[], $6::bytea[], $7::int8[])
       AS r(id, destination, version, event_type, filter, identity, created_at)`;

const RAISE = `
  UPDATE environments SET config_version = config_version + $1, subscription_count = subscription_count + $1
  WHERE id = ${ENVIRONMENT}`;

const DESTINATIONS = `
  SELECT id::text AS key FROM destinations WHERE environment = ${ENVIRONMENT} AND deleted_at IS NULL ORDER BY id`;

type Wanted = { count: number; eventType: string; filterOf: (index: number) => string };

/** Spread evenly over the destinations there are. Each raises the version of the configuration, as one POST would. */
export async function fillSubscriptions({ database, dataDir }: Service, wanted: Wanted): Promise<void> {
  if (database === null) fillStoreFile(dataDir, (db) => fillFile(db, wanted));
  else await fillDatabase(database.url, (client) => fillTables(client, wanted));
}

function fillFile(db: DatabaseSync, wanted: Wanted): void {
  const insert = db.prepare(INSERT);
  const version = Number(db.prepare(VERSION).get()!['version']);
  db.exec('BEGIN');
  for (const { id, ...row } of rowsOf(wanted, { keys: destinationKeys(db), version }))
    insert.run(idBytes(id), row.destination, row.version, row.eventType, row.filter, row.identity, row.createdAt);
  db.prepare(RAISE.replaceAll('$', '?')).run(wanted.count);
  db.exec('COMMIT');
}

async function fillTables(client: Client, wanted: Wanted): Promise<void> {
  const { rows: versions } = await client.query<{ version: string }>(VERSION);
  const { rows: destinations } = await client.query<{ key: string }>(DESTINATIONS);
  const rows = [...rowsOf(wanted, { keys: destinations.map(({ key }) => key), version: Number(versions[0]!.version) })];
  await client.query(INSERT_ALL, [
    rows.map(({ id }) => Buffer.from(idBytes(id)).toString('hex')),
    rows.map(({ destination }) => destination),
    rows.map(({ version }) => version),
    rows.map(({ eventType }) => eventType),
    rows.map(({ filter }) => filter),
    rows.map(({ identity }) => identity),
    rows.map(({ createdAt }) => createdAt),
  ]);
  await client.query(RAISE.replaceAll('$1', '$1::int4'), [wanted.count]);
}

function* rowsOf<Key>({ count, eventType, filterOf }: Wanted, { keys, version }: { keys: Key[]; version: number }) {
  const ids = createIds(systemClock, systemRandom);
  for (let i = 0; i < count; i++) {
    const filter = filterOf(i);
    yield {
      id: ids.next('sub'),
      destination: keys[i % keys.length]!,
      version: version + i + 1,
      eventType,
      filter,
      identity: hash('sha256', JSON.stringify([eventType, filterIdentity(filter)]), 'buffer'),
      createdAt: systemClock.now(),
    };
  }
}
