// Subscriptions as the service writes them, straight into its stopped store.
import { hash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { filterIdentity } from '../src/match/filter-identity.ts';
import { idBytes } from '../src/model/id.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { createIds } from '../src/runtime/ids.ts';
import { systemRandom } from '../src/runtime/random.ts';
import { destinationKeys, ENVIRONMENT } from './store-file.ts';

const INSERT = `
  INSERT INTO subscriptions (id, environment, destination, version, event_type, filter, identity, created_at)
  VALUES (?, ${ENVIRONMENT}, ?, ?, ?, ?, ?, ?)`;

const RAISE = `
  UPDATE environments SET config_version = config_version + ?1, subscription_count = subscription_count + ?1
  WHERE id = ${ENVIRONMENT}`;

/** Spread evenly over the destinations there are. Each raises the version of the configuration, as one POST would. */
export function fillSubscriptions(
  db: DatabaseSync,
  { count, eventType, filterOf }: { count: number; eventType: string; filterOf: (index: number) => string },
): void {
  const keys = destinationKeys(db);
  const ids = createIds(systemClock, systemRandom);
  const insert = db.prepare(INSERT);
  const version = Number(
    db.prepare('SELECT config_version FROM environments WHERE id = ?').get(ENVIRONMENT)!['config_version'],
  );
  db.exec('BEGIN');
  for (let i = 0; i < count; i++) {
    const filter = filterOf(i);
    const identity = hash('sha256', JSON.stringify([eventType, filterIdentity(filter)]), 'buffer');
    const destination = keys[i % keys.length]!;
    insert.run(idBytes(ids.next('sub')), destination, version + i + 1, eventType, filter, identity, systemClock.now());
  }
  db.prepare(RAISE).run(count);
  db.exec('COMMIT');
}
