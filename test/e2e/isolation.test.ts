// One destination's trouble is its own: while it hangs, everybody else gets their events.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { Api, type Delivery } from './api.ts';
import { hold, startReceiver, type Receiver } from './receiver.ts';
import { startService } from './service.ts';

const HEALTHY = 5;
const EVENTS = 60;
/** Its attempts hang for longer than these tests take, unless the machine is very busy. */
const PATIENT = { retry_policy: { timeout_seconds: 60 } };

describe('beside a destination that hangs', { concurrency: true }, () => {
  test('the healthy ones get all their events', async (t) => {
    const service = await startService(t);
    const api = new Api(service);
    const hanging = await startReceiver(t, hold);
    const blocked = await api.subscribed(hanging.url, 'order.paid', PATIENT);
    // All that it may have before it has answered any is on its wire before the others have anything to do.
    await publish(api, 100);
    await hanging.arrived(20);
    const healthy = await startHealthy(t, api, 'order.paid');
    await publish(api, EVENTS);

    await Promise.all(healthy.map((receiver) => receiver.arrived(EVENTS)));
    assert.ok(countHanging(hanging) <= 50);
    const succeeded = await api.eventually(
      () => api.all<Delivery>('/v1/deliveries?status=succeeded'),
      ({ length }) => length === HEALTHY * EVENTS,
    );
    assert.ok(succeeded.every(({ destination_id: id }) => id !== blocked.id));
  });

  test('the healthy ones have slots left, however many it would take', async (t) => {
    // Half of the slots, four, are for destinations that answer, and for those that have none yet.
    const service = await startService(t, { MAX_IN_FLIGHT: '8' });
    const api = new Api(service);
    const hanging = await startReceiver(t, hold);
    const blocked = await api.subscribed(hanging.url, 'order.paid', PATIENT);
    await publish(api, 30);
    await hanging.arrived(4);
    const healthy = await startHealthy(t, api, 'order.shipped');
    await publish(api, EVENTS, 'order.shipped');

    await Promise.all(healthy.map((receiver) => receiver.arrived(EVENTS)));
    assert.ok(countHanging(hanging) <= 4);
    await api.change(blocked.id, { status: 'paused' });
    for (const request of hanging.requests) request.answer(200);
  });
});

describe('a service without a file descriptor left', { skip: !hasPrlimit() }, () => {
  test('sends later, and no receiver is blamed for it', async (t) => {
    const service = await startService(t);
    const api = new Api(service);
    const receiver = await startReceiver(t);
    const once = { retry_policy: { schedule_seconds: [] } };
    const { id: destination } = await api.subscribed(receiver.url, 'order.paid', once);
    await api.change(destination, { status: 'paused' });
    const delivery = await api.publishToOne('order.paid');

    const limit = (files: number | string): Buffer =>
      execFileSync('prlimit', ['--pid', String(service.pid), `--nofile=${files}:`]);
    const most = execFileSync('prlimit', ['--pid', String(service.pid), '--nofile', '-o', 'SOFT', '--noheadings']);
    // Those that it has stay open; none can have another number.
    limit(3);
    await api.change(destination, { status: 'active' });
    const isLogged = (): boolean => service.output.includes('run out of file descriptors');
    await api.eventually(
      () => api.delivery(delivery),
      ({ attempt_count: attempts }) => isLogged() || attempts > 0,
    );
    limit(most.toString().trim());
    await receiver.arrived(1);
    const { status, retries } = await api.eventually(
      () => api.delivery(delivery),
      ({ completed_at: completedAt }) => completedAt !== null,
    );
    assert.deepEqual([status, retries.map(({ outcome }) => outcome)], ['succeeded', ['succeeded']]);
  });
});

function hasPrlimit(): boolean {
  try {
    execFileSync('prlimit', ['--version']);
    return true;
  } catch {
    return false;
  }
}

/** Those that have timed out meanwhile made room for others. */
function countHanging({ requests }: Receiver): number {
  return requests.filter(({ isGivenUp }) => !isGivenUp).length;
}

async function startHealthy(t: Parameters<typeof startReceiver>[0], api: Api, type: string): Promise<Receiver[]> {
  const receivers = [];
  for (let n = 0; n < HEALTHY; n++) {
    const receiver = await startReceiver(t);
    await api.subscribed(receiver.url, type);
    receivers.push(receiver);
  }
  return receivers;
}

async function publish(api: Api, count: number, type = 'order.paid'): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, n) => api.publish(type, { n })));
}
