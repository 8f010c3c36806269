// What `postrider relay` publishes a second from an outbox that is full, on the same machine as the service and the
// database, and what a row costs each of the two programs. Nobody subscribes: accepting alone is measured.
import { startPostgres, type PostgresServer } from '../../test/store/postgres/server.ts';
import { RelayProcess, schemaOf } from '../../test/relay/relaying.ts';
import type { Bench, Case } from '../bench.ts';
import { readTreeCpu } from '../measure.ts';
import { aimed, figureOf, type Figure, type Report } from '../report.ts';
import type { Service } from '../service.ts';

const REPEATS = 3;
const WARM_UP = 5_000;
const ROWS = 50_000;
const GROUPS = 2_000;
const ROWS_PER_SECOND = 5_000;
const DATABASE = 'bench_relay';
const LOOK_AGAIN_MS = 20;

export const relay: Case = {
  name: 'relay',
  about: 'rows a second from an outbox to a service on the same machine, ungrouped and in 2,000 groups',
  run,
};

async function run(bench: Bench): Promise<Report[]> {
  const service = await bench.service();
  const postgres = await startPostgres();
  try {
    await postgres.create(DATABASE);
    await postgres.query(await schemaOf(), DATABASE);
    const figures: Figure[] = [];
    await publish(service, postgres, { rows: bench.sized(WARM_UP), groups: 1 });
    for (const groups of [0, GROUPS]) {
      const runs: Published[] = [];
      while (runs.length < REPEATS) runs.push(await publish(service, postgres, { rows: bench.sized(ROWS), groups }));
      const name = groups === 0 ? '' : `, ${groups} groups`;
      const rate = figureOf(
        `published${name}`,
        'rows/s',
        runs.map(({ perSecond }) => perSecond),
      );
      figures.push(groups === 0 ? aimed(rate, { atLeast: ROWS_PER_SECOND }) : rate);
      for (const who of ['relay', 'service'] as const) {
        const costs = runs.map((one) => one[who]);
        figures.push(figureOf(`CPU of the ${who}${name}`, 'µs/row', costs));
      }
    }
    return [{ case: 'relay', figures }];
  } finally {
    await postgres.stop();
  }
}

type Published = { perSecond: number; relay: number; service: number };

/** From the moment that the relay begins to publish until the outbox is empty. */
async function publish(
  service: Service,
  postgres: PostgresServer,
  { rows, groups }: { rows: number; groups: number },
): Promise<Published> {
  const group = groups === 0 ? 'NULL' : `'g' || n % ${groups}`;
  await postgres.query(
    `INSERT INTO outbox (type, body, group_key)
     SELECT 'bench.row', json_build_object('n', n, 'text', repeat('x', 300)), ${group}
     FROM generate_series(1, ${rows}) n`,
    DATABASE,
  );
  await postgres.query('VACUUM ANALYZE outbox', DATABASE);
  const relaying = new RelayProcess(service, ['--source', postgres.urlOf(DATABASE)]);
  await relaying.said('publishing');
  const startedAt = performance.now();
  const before = { relay: readTreeCpu(relaying.pid), service: readTreeCpu(service.pid) };
  while (!(await isEmpty(postgres))) await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  const seconds = (performance.now() - startedAt) / 1_000;
  const after = { relay: readTreeCpu(relaying.pid), service: readTreeCpu(service.pid) };
  await relaying.signal('SIGTERM');
  return {
    perSecond: rows / seconds,
    relay: (after.relay - before.relay) / rows,
    service: (after.service - before.service) / rows,
  };
}

async function isEmpty(postgres: PostgresServer): Promise<boolean> {
  const [row] = await postgres.query('SELECT NOT EXISTS (SELECT FROM outbox) AS empty', DATABASE);
  return row!['empty'] === true;
}
