// A machine whose clock is an hour ahead for a moment: what is accepted afterwards is due at once, dated right, and the
// log tells of it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Api } from './api.ts';
import { startReceiver } from './receiver.ts';
import { Service } from './service.ts';

const HOUR_MS = 3_600_000;
const NEAR_MS = 60_000;

test('an hour ahead and back: later events are dated and due by the clock as it is', async (t) => {
  const preloaded = new URL('./set-clock.ts', import.meta.url).href;
  const service = new Service({}, { NODE_OPTIONS: `--import ${preloaded}` });
  t.after(() => service.end());
  await service.start();
  const api = new Api(service);
  const receiver = await startReceiver(t);
  const destination = await api.subscribed(receiver.url, 'clock.set');

  process.kill(service.pid, 'SIGUSR2');
  const ahead = await api.eventually(
    () => api.publish('clock.set'),
    ({ created_at: at }) => Date.parse(at) > Date.now() + HOUR_MS - NEAR_MS,
  );
  process.kill(service.pid, 'SIGUSR2');
  await api.eventually(
    () => api.publish('clock.set'),
    ({ created_at: at }) => Math.abs(Date.parse(at) - Date.now()) < NEAR_MS,
  );
  assert.equal((await api.deliveryEnds(ahead.deliveries[0]!.id)).status, 'succeeded');

  // Held, they wait in the store, and come from there by their due time.
  await api.change(destination.id, { status: 'paused' });
  const held = await api.publishToOne('clock.set');
  await api.change(destination.id, { status: 'active' });
  assert.equal((await api.deliveryEnds(held)).status, 'succeeded');

  const [told, ...more] = await api.eventually(
    async () => service.logEntries().filter(({ msg }) => /was set back/.test(String(msg))),
    ({ length }) => length > 0,
  );
  assert.deepEqual(more, []);
  assert.equal(told!['level'], 'warn');
  assert.ok(Math.abs(Number(told!['lead_ms']) - HOUR_MS) < NEAR_MS);
});
