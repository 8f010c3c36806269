// Few bytes that mean very many deliveries, sent with a test key: they are answered in bounded memory, and live events
// go on being accepted between their transactions.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Api, type Destination, type Event } from './api.ts';
import { runCommand, startService, type Service } from './service.ts';

const DESTINATIONS = 5;
const SUBSCRIPTIONS = 5_000;
const EVENTS = 1_000;
const BATCH_DELIVERIES_MAX = 100_000;
const RESIDENT_MAX = 800 * 1024 * 1024;
/** Requests that set things up, at a time. */
const CONNECTIONS = 16;

type Result = { status: number; event?: Event; error?: { code: string; retry_after_seconds?: number } };

test('a batch for 5,000 subscriptions each keeps live accepts waiting for no more than a transaction', async (t) => {
  const service = await startService(t, { REACHABILITY_CHECK: 'off' });
  const api = new Api(service);
  const live = new Api(service, await createLiveKey(service));
  await subscribeAll(api);
  const batch = { events: Array.from({ length: EVENTS }, () => ({ type: 'a.b', body: {} })) };

  let isAnswered = false;
  const answered = api.expect<{ data: Result[] }>(200, 'POST', '/v1/events/batch', batch).finally(() => {
    isAnswered = true;
  });
  let [acceptedMeanwhile, longestMs] = [0, 0];
  while (!isAnswered) {
    const startedAt = performance.now();
    await live.publish('live.event');
    longestMs = Math.max(longestMs, performance.now() - startedAt);
    if (!isAnswered) acceptedMeanwhile++;
  }
  const { data } = await answered;

  const accepted = data.filter(({ status }) => status === 202);
  assert.equal(accepted.length, BATCH_DELIVERIES_MAX / SUBSCRIPTIONS);
  assert.deepEqual(data.slice(0, accepted.length), accepted, 'the first of them');
  for (const { event } of accepted) {
    assert.equal(new Set(event!.deliveries.map(({ subscription_id: id }) => id)).size, SUBSCRIPTIONS);
  }
  for (const { status, error } of data.slice(accepted.length)) {
    assert.deepEqual([status, error!.code, error!.retry_after_seconds], [503, 'unavailable', 1]);
  }
  // One event is a transaction here, and a live accept that waits goes between two of them.
  t.diagnostic(`${acceptedMeanwhile} live accepts meanwhile, the longest ${Math.round(longestMs)} ms`);
  assert.ok(acceptedMeanwhile >= accepted.length / 2, `only ${acceptedMeanwhile} live accepts meanwhile`);
  const peak = peakResidentBytes(service);
  if (peak === null) return;
  t.diagnostic(`resident at most ${Math.round(peak / 1024 ** 2)} MiB`);
  assert.ok(peak < RESIDENT_MAX, `${peak} bytes were resident`);
});

async function createLiveKey(service: Service): Promise<string> {
  const { code, stdout } = await runCommand(['keys', 'create', '--mode', 'live', '--json'], service.environment());
  assert.equal(code, 0);
  return (JSON.parse(stdout) as { secret: string }).secret;
}

/** Paused destinations: what is told here ends with the answer. */
async function subscribeAll(api: Api): Promise<void> {
  const destinations: Destination[] = [];
  for (let n = 0; n < DESTINATIONS; n++) {
    const destination = await api.destination(`http://127.0.0.1:${20_000 + n}/`);
    await api.change(destination.id, { status: 'paused' });
    destinations.push(destination);
  }
  let next = 0;
  const subscribeSome = async (): Promise<void> => {
    while (next < SUBSCRIPTIONS) {
      const n = next++;
      await api.subscribe(destinations[n % DESTINATIONS]!, 'a.b', { [`$.absent${n}`]: { $exists: false } });
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, subscribeSome));
}

/** Null where the system does not tell. */
function peakResidentBytes({ pid }: Service): number | null {
  const file = `/proc/${pid}/status`;
  if (!existsSync(file)) return null;
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(file, 'utf8'))![1]) * 1024;
}
