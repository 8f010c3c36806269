// What retention and deletions take in many steps, beside a transaction that keeps what they took from vacuum (a
// pg_dump, one that was left open): no step reads again what those before it took.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Client } from 'pg';
import type { DestinationId } from '../../src/model/id.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { StepReport } from '../../src/store/store.ts';
import { atEnd } from './data-dirs.ts';
import { CITUS_URL } from './postgres/citus.ts';
import { sharedDatabases, storeOptions } from './postgres/databases.ts';
import { DAY, LIVE, Scene } from './scene.ts';

const databases = sharedDatabases();

const ROWS = 750;
/** Of at most 25 rows each. From the head, each would read all that is gone: 30 times half the rows. */
const SMALL_STEPS = { budgetMs: 0 };
/** A pass reads each row about once, and its end what is gone once more. */
const READS_PER_ROW_MAX = 6;

describe('beside an old snapshot', { skip: CITUS_URL === undefined ? false : 'counts what one machine reads' }, () => {
  it('deliveries of a deleted destination are ended', async (t) => {
    const reads = await countReads(t, 'open_deliveries_by_due', async (scene, destination) => {
      await scene.store.deleteDestination({ environment: LIVE, id: destination, now: scene.now });
      await untilDone(() => scene.store.endDeletedDeliveries({ now: scene.pass(1), ...SMALL_STEPS }));
    });
    assert.ok(reads < ROWS * READS_PER_ROW_MAX, `${reads} entries of the index`);
  });

  it('deliveries of old events are ended', async (t) => {
    const reads = await countReads(t, 'open_deliveries_by_event', async (scene) => {
      const now = scene.pass(DAY);
      await untilDone(() => scene.store.eraseBodies({ cutoff: now, now, ...SMALL_STEPS }));
    });
    assert.ok(reads < ROWS * READS_PER_ROW_MAX, `${reads} entries of the index`);
  });

  it('idempotency keys are forgotten', async (t) => {
    const reads = await countReads(t, 'idempotency_by_expiry', async (scene) => {
      const now = scene.pass(2 * DAY);
      await untilDone(() => scene.store.pruneRows({ cutoff: 0, now, ...SMALL_STEPS }));
    });
    assert.ok(reads < ROWS * READS_PER_ROW_MAX, `${reads} entries of the index`);
  });

  it('rows of a short retention are removed', async (t) => {
    const reads = await countReads(t, 'events_%', async (scene) => {
      const now = scene.pass(DAY);
      await untilDone(() => scene.store.pruneRows({ cutoff: now, now, ...SMALL_STEPS }));
    });
    // Each is also deleted by its key.
    assert.ok(reads < 2 * ROWS * READS_PER_ROW_MAX, `${reads} entries of the indexes`);
  });
});

async function untilDone(step: () => Promise<StepReport>): Promise<void> {
  while ((await step()).more);
}

/** How many entries of the index `work` has read, dead ones too, of a store with ROWS events. */
async function countReads(
  t: TestContext,
  index: string,
  work: (scene: Scene, destination: DestinationId) => Promise<void>,
): Promise<number> {
  const url = await databases.make(t);
  const store = await openPostgresStore(storeOptions(url));
  const scene = new Scene(store);
  atEnd(t, () => store.close());
  const destination = await scene.createDestination();
  const events = [];
  for (let i = 0; i < ROWS; i++) {
    scene.pass(1);
    const idempotency = { fingerprint: new Uint8Array(32), expiresAt: scene.now + DAY };
    events.push(await scene.event([destination], { idempotencyKey: `key ${i}`, idempotency }));
  }
  await store.acceptEvents(events);
  const client = new Client({ connectionString: url });
  await client.connect();
  atEnd(t, () => client.end());
  await client.query('ANALYZE');
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await client.query('SELECT 1 FROM meta LIMIT 1');
  await work(scene, destination);
  await store.close();
  await client.query('COMMIT');
  return readCounter(client, index);
}

/** A process of the server has counted in all that it read when it is gone. */
async function readCounter(client: Client, index: string): Promise<number> {
  const others = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`;
  while ((await client.query(others)).rowCount! > 0) await client.query('SELECT pg_sleep(0.01)');
  const { rows } = await client.query<{ reads: string }>(
    'SELECT sum(idx_tup_read) AS reads FROM pg_stat_user_indexes WHERE indexrelname LIKE $1',
    [index],
  );
  return Number(rows[0]!.reads);
}
