// Statements that go out together: answered together, in order, and given up together at the first that fails.
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { PoolClient, Query } from 'pg';
import { openPool } from '../../src/store/postgres/wire/connections.ts';
import { isConnectionLoss } from '../../src/store/postgres/wire/errors.ts';
import { Pipeline } from '../../src/store/postgres/wire/pipeline.ts';
import { atEnd } from './data-dirs.ts';
import { sharedDatabases } from './postgres/databases.ts';
import type { PostgresServer } from './postgres/server.ts';
import { sharedPostgres } from './postgres/shared.ts';
import { DAY, Scene, result, retryAt, succeed } from './scene.ts';

let server: PostgresServer;
before(async () => {
  server = await sharedPostgres();
});
after(() => server.stop());

async function open(t: TestContext): Promise<{ client: PoolClient; pipeline: Pipeline; writes: () => number }> {
  const pool = openPool({ url: server.urlOf('postgres'), settings: [] }, 1);
  atEnd(t, () => pool.end());
  const client = await pool.connect();
  client.on('error', () => {});
  atEnd(t, () => client.release(true));
  await client.query('CREATE TEMPORARY TABLE kept (n int4)');
  // What goes to the socket at once: pg and Node hand it over in one call.
  let writes = 0;
  const { stream } = client.connection;
  const [write, writev] = [stream._write.bind(stream), stream._writev!.bind(stream)];
  stream._write = (...given) => (writes++, write(...given));
  stream._writev = (...given) => (writes++, writev(...given));
  return { client, pipeline: new Pipeline(client), writes: () => writes };
}

const ADD = { name: 'test_add', text: 'INSERT INTO kept VALUES ($1::int4)' };
const ALL = { name: 'test_all', text: 'SELECT n, NULL::text AS nothing FROM kept ORDER BY n' };
const DIVIDE = { name: 'test_divide', text: 'SELECT 1 / $1::int4 AS quotient' };
const BEGIN = { name: 'BEGIN', text: 'BEGIN' };
const COMMIT = { name: 'COMMIT', text: 'COMMIT' };
const ROLLBACK = { name: 'ROLLBACK', text: 'ROLLBACK' };

const outcomes = async (sent: Promise<unknown>[]): Promise<string[]> =>
  (await Promise.allSettled(sent)).map(({ status }) => status);

describe('statements sent in one turn', () => {
  it('go out in one write, and each gets its own answer', async (t) => {
    const { pipeline, writes } = await open(t);
    const earlier = writes();
    const answers = await Promise.all([
      pipeline.send(BEGIN, []),
      pipeline.send(ADD, [3]),
      // Known to the server only when it gets there, and used again at once.
      pipeline.send(ADD, [4]),
      pipeline.send(ALL, []),
      pipeline.send(COMMIT, []),
    ]);
    assert.equal(writes() - earlier, 1);
    assert.deepEqual(
      answers.map(({ command, rowCount }) => [command, rowCount]),
      [
        ['BEGIN', 0],
        ['INSERT', 1],
        ['INSERT', 1],
        ['SELECT', 2],
        ['COMMIT', 0],
      ],
    );
    assert.deepEqual(answers[3].rows, [
      { n: 3, nothing: null },
      { n: 4, nothing: null },
    ]);
    const again = await pipeline.send(ALL, []);
    assert.deepEqual(again.rows, answers[3].rows, 'read the same way when the server no longer says how');
  });

  it('are all given up after one that fails, and nothing that came later is done', async (t) => {
    const { pipeline } = await open(t);
    const sent = [pipeline.send(ADD, [1]), pipeline.send(DIVIDE, [0]), pipeline.send(ADD, [2])];
    assert.deepEqual(await outcomes(sent), ['fulfilled', 'rejected', 'rejected']);
    await assert.rejects(sent[2]!, { code: '22012' }, 'it says why');
    // Without a transaction the turn was one by itself.
    assert.deepEqual((await pipeline.send(ALL, [])).rows, []);
  });

  it('leave the connection as good as before, whether the server had learnt them or not', async (t) => {
    const { pipeline } = await open(t);
    // DIVIDE fails after it was parsed, ALL was never looked at.
    await outcomes([pipeline.send(DIVIDE, [0]), pipeline.send(ALL, [])]);
    const answers = await Promise.all([pipeline.send(DIVIDE, [1]), pipeline.send(ALL, [])]);
    assert.deepEqual(
      answers.map(({ rows }) => rows),
      [[{ quotient: 1 }], []],
    );
  });

  it('of a transaction that failed are refused until it is rolled back', async (t) => {
    const { pipeline } = await open(t);
    const sent = [pipeline.send(BEGIN, []), pipeline.send(DIVIDE, [0]), pipeline.send(COMMIT, [])];
    assert.deepEqual(await outcomes(sent), ['fulfilled', 'rejected', 'rejected'], 'the COMMIT was skipped');
    await assert.rejects(pipeline.send(ALL, []), { code: '25P02' });
    await pipeline.send(ROLLBACK, []);
    assert.deepEqual((await pipeline.send(ALL, [])).rows, []);
  });

  it('fail with what became of the connection', async (t) => {
    const { client, pipeline } = await open(t);
    const sent = [pipeline.send({ name: 'test_sleep', text: 'SELECT pg_sleep(60)' }, []), pipeline.send(ALL, [])];
    await new Promise((resolve) => void setImmediate(resolve));
    client.connection.stream.destroy();
    for (const one of sent) await assert.rejects(one, isConnectionLoss);
    await assert.rejects(pipeline.send(ALL, []), isConnectionLoss, 'and so does what comes later');
  });

  it('keep their order over turns that do not wait for one another', async (t) => {
    const { pipeline } = await open(t);
    const sent = [];
    for (let n = 0; n < 50; n++) {
      sent.push(pipeline.send(ADD, [n]), pipeline.send(ALL, []));
      await Promise.resolve();
      if (n % 7 === 0) await new Promise((resolve) => void setImmediate(resolve));
    }
    const counts = (await Promise.all(sent))
      .filter(({ command }) => command === 'SELECT')
      .map(({ rowCount }) => rowCount);
    assert.deepEqual(
      counts,
      counts.map((_, i) => i + 1),
    );
  });
});

describe('a batch that meets nothing unusual', () => {
  const databases = sharedDatabases();

  it('takes one round trip to be accepted, with keys or without, and one to be recorded', async (t) => {
    let trips = 0;
    const createPipeline = (client: PoolClient): Pipeline => {
      // One query of pg is a turn: what goes out with one Sync.
      const counted = { query: (turn: Query) => (trips++, client.query(turn)) };
      return new Pipeline(counted as unknown as PoolClient);
    };
    const scene = new Scene(await databases.open(t, { createPipeline }));
    const tripsOf = async (work: () => Promise<unknown>): Promise<number> => {
      const earlier = trips;
      await work();
      return trips - earlier;
    };
    const to = [await scene.createDestination()];
    const idempotency = { fingerprint: new Uint8Array(32), expiresAt: scene.now + DAY };
    const make = (key: string) => scene.event(to, { idempotencyKey: key, idempotency });
    const events = await Promise.all([make('a'), scene.event(to), make('b'), scene.event(to)]);
    assert.equal(await tripsOf(() => scene.store.acceptEvents(events)), 1);
    const results = events.map(({ deliveries: [delivery] }, i) =>
      result(delivery!.id, 0, i % 2 === 0 ? succeed() : retryAt(scene.now)),
    );
    assert.equal(await tripsOf(() => scene.record(...results)), 1);
    assert.equal(await scene.unfinishedCount(), 2);
  });
});
