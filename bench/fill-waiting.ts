// Destinations with one unfinished delivery each, straight into PostgreSQL.
import { idBytes, idShard } from '../src/model/id.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { createIds } from '../src/runtime/ids.ts';
import { systemRandom } from '../src/runtime/random.ts';
import { fillDatabase } from './postgres.ts';
import { ENVIRONMENT } from './store-file.ts';

const ROWS_PER_STATEMENT = 10_000;

// The first: $1 destinations, $2 the time.
// The second: $1 those, $2 their shards, $3 deliveries, $4 events, $5 the time.
const INSERTS = [
  `INSERT INTO destinations (id, environment, version, url, status, max_in_flight, metadata, created_at, updated_at)
   SELECT id, ${ENVIRONMENT}, 1, 'https://receiver.example/', 0, 50, '{}', $2::int8, $2::int8
   FROM unnest($1::uuid[]) AS r(id)`,
  `INSERT INTO open_deliveries (shard, id, environment, event_id, destination_id, subscription_id, origin, status, rev,
                                due_at, schedule_position, attempt_count, response_codes, updated_at)
   SELECT shard, id, ${ENVIRONMENT}, event_id, destination_id, destination_id, 0, 0, 0, $5::int8, 0, 0, '', $5::int8
   FROM unnest($1::uuid[], $2::int2[], $3::uuid[], $4::uuid[]) AS r(destination_id, shard, id, event_id)`,
];

export async function fillWaiting(url: string, count: number): Promise<void> {
  const ids = createIds(systemClock, systemRandom);
  await fillDatabase(url, async (client) => {
    for (let done = 0; done < count; done += ROWS_PER_STATEMENT) {
      const destinations = Array.from({ length: Math.min(ROWS_PER_STATEMENT, count - done) }, () => ids.next('dst'));
      const shards = destinations.map(idShard);
      const now = systemClock.now();
      const uuids = destinations.map(uuidOf);
      await client.query(INSERTS[0]!, [uuids, now]);
      const deliveries = shards.map((shard) => uuidOf(ids.next('dlv', shard)));
      const events = shards.map(() => uuidOf(ids.next('evt')));
      await client.query(INSERTS[1]!, [uuids, shards, deliveries, events, now]);
    }
  });
}

function uuidOf(id: string): string {
  return Buffer.from(idBytes(id)).toString('hex');
}
