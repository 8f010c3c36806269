// Filters of one environment that take long on an event, older than the limit on [*]: the other environment's events
// are accepted meanwhile, and the event goes where it should.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createIds } from '../../src/runtime/ids.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { openStore } from '../../src/store/open.ts';
import { Api, type Event } from './api.ts';
import { runCommand, Service } from './service.ts';

const SUBSCRIPTIONS = 40;
const LARGE_EVENTS = 3;
/** Accepted one after the other while those are under way; without a thread for them it is one or two each. */
const BESIDE_MIN = 10;

const WANTED = { '$.rows[*][*]': { $gt: 0 } };
const BODY = { rows: [Array.from({ length: 130_000 }, () => 1)] };

test('events are accepted while those of another environment take long to match', async (t) => {
  const service = new Service({ REACHABILITY_CHECK: 'off' });
  t.after(() => service.end());
  await service.start();
  const api = new Api(service);
  const destination = await api.destination('http://127.0.0.1:9/');
  await api.change(destination.id, { status: 'paused' });
  const wanting = await api.subscribe(destination, 'order.paid', WANTED);
  const made = await runCommand(['keys', 'create', '--mode', 'live', '--json'], service.environment());
  const live = new Api(service, (JSON.parse(made.stdout) as { secret: string }).secret);
  await service.stop();
  await storeOldFilters(service.dataDir, destination.id);
  await service.start();
  await live.publish('order.paid');

  let isOver = false;
  const startedAt = performance.now();
  const large = (async () => {
    const events: Event[] = [];
    for (let n = 0; n < LARGE_EVENTS; n++) events.push(await api.publish('order.paid', BODY));
    isOver = true;
    t.diagnostic(`${LARGE_EVENTS} large events: ${(performance.now() - startedAt).toFixed(0)} ms`);
    return events;
  })();
  const latenciesMs: number[] = [];
  while (!isOver) {
    const sentAt = performance.now();
    await live.publish('order.paid', { n: latenciesMs.length });
    latenciesMs.push(performance.now() - sentAt);
  }
  for (const { deliveries } of await large)
    assert.deepEqual(
      deliveries.map((one) => one.subscription_id),
      [wanting.id],
    );
  assert.ok(latenciesMs.length >= BESIDE_MIN, `${latenciesMs.length} events were accepted beside the large ones`);

  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  const stall = /^\S*event_loop_delay_seconds (\S+)/m.exec(metrics)?.[1];
  t.diagnostic(`beside: ${latenciesMs.length}, the slowest in ${Math.max(...latenciesMs).toFixed(0)} ms`);
  t.diagnostic(`the event loop's longest delay: ${stall} s`);
});

/** Straight into the store, as they were stored when [*] was allowed in every condition; none of them wants BODY. */
async function storeOldFilters(dataDir: string, destinationId: string): Promise<void> {
  const store = await openStore({ databaseUrl: null, dataDir, masterKey: null, random: systemRandom });
  const ids = createIds(systemClock, systemRandom);
  const environments = await store.readEnvironments();
  const { environment } = environments.find(({ mode }) => mode === 'test')!;
  for (let n = 0; n < SUBSCRIPTIONS; n++) {
    const conditions = Array.from({ length: 50 }, (_, c) => ({ '$.rows[*][*]': { $in: [n * 50 + c + 2, `${c}`] } }));
    const subscription = {
      id: ids.next('sub'),
      environment,
      destinationId: destinationId as `dst_${string}`,
      eventType: 'order.paid',
      filter: JSON.stringify({ $or: conditions }),
      createdAt: systemClock.now(),
    };
    const limits = { perDestinationMax: 1_000, perEnvironmentMax: 1_000 };
    const identity = Buffer.from(subscription.id);
    assert.equal((await store.createSubscription({ subscription, identity }, limits)).result, 'created');
  }
  await store.close();
}
