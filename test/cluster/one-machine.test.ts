// serve --processes: however many processes share the port, a destination's limits hold for all of them together, and
// one that is killed is replaced without anything being lost.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Destination } from '../e2e/api.ts';
import type { Service } from '../e2e/service.ts';
import type { PostgresServer } from '../store/postgres/server.ts';
import { sharedPostgres } from '../store/postgres/shared.ts';
import { AFTERMATH_MS, OnWire, assertDuplicates, assertRate, removalsIn } from './limits.ts';
import { Publisher, Stage, eventually, tally } from './stage.ts';

const PROCESSES = 3;
const LEASE_MS = 4_000;
const SHARE = Math.ceil(256 / PROCESSES);
const RATE = 10;
const BURST = 30;

const names = (kind: string): string[] => Array.from({ length: 5 }, (_, i) => `${kind}.${i}`);
const FREE = names('free');
const ONE_AT_A_TIME = names('one-at-a-time');
const PACED = names('paced');
const TYPES = [...FREE, ...ONE_AT_A_TIME, ...PACED];

let server: PostgresServer;
before(async () => {
  server = await sharedPostgres();
});
after(() => server.stop());

test('limits hold for the whole machine, and a killed process costs nothing', async (t) => {
  const stage = new Stage(t, server, { PROCESSES: String(PROCESSES), NODE_LEASE: `${LEASE_MS}ms` });
  await server.create(stage.database);
  const service = await stage.addNode();
  await whenShared(stage, service);

  const onWire = new OnWire();
  const receiver = await stage.receiver((request) => {
    onWire.note(request);
    setTimeout(() => request.answer(200), 30);
  });
  const make = (types: readonly string[], options: object): Promise<Destination[]> =>
    Promise.all(types.map((type) => stage.api(service).subscribed(`${receiver.url}${type}`, type, options)));
  await make(FREE, {});
  await make(ONE_AT_A_TIME, { max_in_flight: 1 });
  const paced = await make(PACED, { rate_per_second: RATE, max_in_flight: 1 });
  // More at once than the rate lets go, by whichever processes.
  const burst = await Promise.all(
    PACED.flatMap((type) => Array.from({ length: BURST }, () => stage.api(service).publish(type))),
  );
  const publisher = new Publisher(stage, TYPES, { pauseMs: 40 });
  await publisher.promisedCount(20 * TYPES.length);

  const pids = servingIn(service);
  assert.equal(pids.length, PROCESSES);
  const from = Date.now();
  process.kill(pids[1]!, 'SIGKILL');
  await eventually(
    async () => servingIn(service).length,
    (count) => count === PROCESSES + 1,
  );
  await whenShared(stage, service);
  await publisher.promisedCount(publisher.promised.size + 10 * TYPES.length);
  const promised = [...burst.map((event) => event.event_id), ...(await publisher.stop())];
  const result = await tally(receiver, promised, 60_000);

  const killed = { from, to: from + LEASE_MS + AFTERMATH_MS };
  const forced = [killed, ...removalsIn(stage.nodes, LEASE_MS)];
  const paths = ONE_AT_A_TIME.map((type) => `/${type}`);
  const most = onWire.assertWithin(paths, 1, forced);
  for (const destination of paced) {
    assertRate(await stage.attemptsAt(destination), { rate: RATE, onWire: 1, forced, name: destination.url });
  }
  assertDuplicates(receiver, forced);
  t.diagnostic(`${JSON.stringify(result)}, ${publisher.refused} posts retried`);
  t.diagnostic(`of 1 allowed at once: ${most.calm}, around the kill ${most.forced}`);
  assert.deepEqual(await service.stop(), { code: 0, signal: null });
});

/** Whichever process is asked, all are there and each has its share. */
async function whenShared(stage: Stage, service: Service): Promise<void> {
  await eventually(
    () => stage.report(service),
    ({ data, shards_free: free }) =>
      data.length === PROCESSES && free === 0 && data.every(({ shards_owned: owned }) => owned <= SHARE),
  );
}

/** The ids of the processes that have served so far. */
function servingIn(service: Service): number[] {
  return service.logEntries().flatMap(({ msg, process: pid }) => (msg === 'a process serves' ? [pid as number] : []));
}
