// kill -9 of relay, service and database under load, again and again: every committed row is published, none twice,
// none that was rolled back, groups in their order. What was committed is known by rows of the same transactions that
// stay.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { Client } from 'pg';
import { Api } from '../e2e/api.ts';
import { Service } from '../e2e/service.ts';
import { SeededRandom } from '../sim/seeded-random.ts';
import { startPostgres, type OwnPostgres } from '../store/postgres/server.ts';
import { acceptedOf, countKeys, RelayProcess, schemaOf, type Accepted } from './relaying.ts';

/** `npm run test:soak` asks for more rounds, with seeds that nobody chose. In each round one of the three is killed. */
const ROUNDS = Number(process.env['RELAY_ROUNDS'] ?? 6);
const SEED = Number(process.env['RELAY_SEED'] ?? 17);
const WRITERS = 3;
const GROUPS = 5;
/** Committed before each kill, at most; and as many while it goes on. */
const ROWS_MAX = 300;
const DATABASE = 'crash';
const TYPE = 'crash.row';
const EMPTY_MS_MAX = 120_000;

type Fraction = () => number;

/** An application: in each transaction some rows, and what it knows of them. Some are rolled back. */
class Writers {
  committed = 0;
  #committedMax = 0;
  readonly rolledBack: string[] = [];
  readonly #url: string;
  readonly #fraction: Fraction;
  readonly #changes = new EventEmitter();
  readonly #ended: Promise<void[]>;
  #isEnding = false;

  constructor(url: string, fraction: Fraction) {
    this.#url = url;
    this.#fraction = fraction;
    this.#ended = Promise.all(Array.from({ length: WRITERS }, () => this.#write()));
  }

  /** Resolves when so many more are committed; then as many again may be, while something is being killed. */
  async more(count: number): Promise<void> {
    const committed = this.committed + count;
    this.#committedMax = committed + count;
    this.#changes.emit('limit');
    while (this.committed < committed) await once(this.#changes, 'commit');
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    this.#changes.emit('limit');
    await this.#ended;
  }

  /** On the next connection when the database is gone. */
  async #write(): Promise<void> {
    while (!this.#isEnding) {
      const client = new Client({ connectionString: this.#url });
      client.on('error', () => {});
      try {
        await client.connect();
        while (!this.#isEnding) {
          if (this.committed < this.#committedMax) await this.#transact(client);
          else await once(this.#changes, 'limit');
        }
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 20));
      } finally {
        await client.end().catch(() => {});
      }
    }
  }

  async #transact(client: Client): Promise<void> {
    const count = 1 + Math.floor(this.#fraction() * 5);
    const ids = Array.from({ length: count }, () => randomUUID());
    const group = this.#fraction() < 0.5 ? `g${Math.floor(this.#fraction() * GROUPS)}` : null;
    await client.query('BEGIN');
    // Who cares for the order of a group lets its writers take turns.
    if (group !== null) await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [group]);
    await client.query(
      `WITH written AS (
         INSERT INTO outbox (id, type, body, group_key) SELECT id, '${TYPE}', json_build_object('id', id), $2
         FROM unnest($1::uuid[]) AS id RETURNING id, group_key, created_at)
       INSERT INTO ledger SELECT * FROM written`,
      [ids, group],
    );
    if (this.#fraction() < 0.1) {
      await client.query('ROLLBACK');
      this.rolledBack.push(...ids);
      return;
    }
    await client.query('COMMIT');
    this.committed += count;
    this.#changes.emit('commit');
  }
}

type Stand = { postgres: OwnPostgres; service: Service; startRelay: () => RelayProcess };

async function kill(which: number, { postgres, service, startRelay }: Stand, relays: RelayProcess[]): Promise<string> {
  if (which === 0) {
    // The older one, whose turn it is unless it has just lost it.
    await relays.shift()!.signal('SIGKILL');
    relays.push(startRelay());
    return 'relay';
  }
  if (which === 1) {
    await service.kill();
    await service.start();
    return 'service';
  }
  await postgres.restart();
  return 'database';
}

async function isEmpty(postgres: OwnPostgres): Promise<boolean> {
  const [row] = await postgres.query('SELECT count(*)::int AS count FROM outbox', DATABASE);
  return row!['count'] === 0;
}

async function untilEmpty(postgres: OwnPostgres, relays: readonly RelayProcess[]): Promise<void> {
  const deadline = performance.now() + EMPTY_MS_MAX;
  while (!(await isEmpty(postgres))) {
    const said = relays.map(({ lines, errors }) => [lines.slice(-5), errors]);
    assert.ok(performance.now() < deadline, `rows are left: ${JSON.stringify(said)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

type Written = { id: string; group: string | null };

function assertInOrder(written: readonly Written[], accepted: readonly Accepted[]): void {
  const place = new Map(accepted.map(({ idempotency_key: key }, i) => [key, i]));
  for (const [group, rows] of Map.groupBy(written, (row) => row.group)) {
    if (group === null) continue;
    const places = rows.map(({ id }) => place.get(id)!);
    const late = places.findIndex((at, i) => i > 0 && at < places[i - 1]!);
    assert.equal(late, -1, `${group}: ${rows[late]?.id} came before the row before it`);
  }
}

test(`kill -9 under load, ${ROUNDS} rounds, seed ${SEED}`, async (t) => {
  const random = new SeededRandom(SEED);
  const fraction = (): number => random.fraction();
  const postgres = await startPostgres();
  t.after(() => postgres.stop());
  const service = new Service({ PORT: String(await findFreePort()) });
  t.after(() => service.end());
  await Promise.all([service.start(), postgres.create(DATABASE)]);
  await postgres.query(await schemaOf(), DATABASE);
  await postgres.query(
    'CREATE TABLE ledger (id uuid PRIMARY KEY, group_key text, created_at timestamptz NOT NULL)',
    DATABASE,
  );
  const { url, key } = service;
  const startRelay = (): RelayProcess =>
    new RelayProcess({ url, key }, ['--source', postgres.urlOf(DATABASE), '--batch-size', '20']);
  const stand = { postgres, service, startRelay };
  const relays = [startRelay(), startRelay()];
  t.after(() => Promise.all(relays.map((relay) => relay.signal('SIGKILL'))));
  const writers = new Writers(postgres.urlOf(DATABASE), fraction);
  const killed: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await writers.more(1 + Math.floor(fraction() * ROWS_MAX));
    // In the test's few rounds each of them.
    killed.push(await kill(ROUNDS < 10 ? round % 3 : Math.floor(fraction() * 3), stand, relays));
  }
  await writers.end();
  await untilEmpty(postgres, relays);

  const written = await postgres.query('SELECT id, group_key AS group FROM ledger ORDER BY created_at, id', DATABASE);
  const accepted = await acceptedOf(new Api(service), TYPE);
  const counts = countKeys(accepted);
  const lost = written.filter(({ id }) => !counts.has(id as string));
  const twice = [...counts.values()].filter((count) => count > 1);
  t.diagnostic(`killed: ${killed.join(', ')}`);
  t.diagnostic(
    `committed ${written.length}, rolled back ${writers.rolledBack.length}, published ${counts.size}, ` +
      `lost ${lost.length}, twice ${twice.length}`,
  );
  assert.deepEqual([lost, twice], [[], []]);
  assert.equal(counts.size, written.length, 'and nothing that was rolled back');
  assertInOrder(written as Written[], accepted);
});

/** The same one after each of its starts. */
async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
