// Power cuts: kill -9 in the middle of everything, and what the next start makes of it. The receiver's own record is
// held against what the service had promised.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Api, type Delivery, type Event, type Page } from './api.ts';
import { hold, ok, startReceiver, type Receiver } from './receiver.ts';
import { Service, startService } from './service.ts';

const EVENTS = 600;
const CONNECTIONS = 16;

describe('after kill -9', () => {
  test('what Node compiled is there for the next start', async (t) => {
    const cache = await mkdtemp(join(tmpdir(), 'postrider-compiled-'));
    const service = new Service({}, { NODE_COMPILE_CACHE: cache });
    t.after(() => service.end());
    t.after(() => rm(cache, { recursive: true, force: true }));
    await service.start();
    // It is written after the line by which a start is known, and before the first answer.
    await new Api(service).send('GET', '/health');
    await service.kill();
    const compiled = await readdir(cache, { recursive: true });
    assert.ok(compiled.length > 300, `${compiled.length} files`);
  });

  test('every event that was answered 202 arrives', async (t) => {
    const service = await startService(t);
    const api = new Api(service);
    const arrived = new Set<string>();
    const receiver = await startReceiver(t, (request) => {
      arrived.add(request.eventId);
      // Slow-ish, so that much is on the wire and waiting whenever the power goes.
      setTimeout(() => request.answer(200), 10);
    });
    await api.subscribed(receiver.url, 'order.paid');

    const promised = new Map<number, string>();
    await postUntil(api, promised, async (accepted) => {
      if (accepted === EVENTS / 2) await service.kill();
    });
    const acceptedBefore = promised.size;
    await service.start();
    // What its sender heard nothing of is sent again under its key, as a sender would.
    await postUntil(api, promised, async () => undefined);
    const arrivedBefore = receiver.requests.length;
    await service.kill();
    await service.start();

    const ids = new Set(promised.values());
    assert.equal(ids.size, EVENTS, 'no two posts got one event');
    await receiver.until(() => arrived.size >= EVENTS, 'every event');
    assert.deepEqual(arrived, ids);
    await allSucceed(api, EVENTS);

    t.diagnostic(
      `killed after ${acceptedBefore} accepted and again after ${arrivedBefore} arrived, of ${EVENTS} events`,
    );
    t.diagnostic(`duplicates: ${receiver.requests.length - EVENTS}`);
  });

  test('forced attempts are made and the dead brought back, whenever the power went', async (t) => {
    const service = await startService(t);
    const api = new Api(service);
    // 404: every delivery dies of its first attempt, and there is nothing to slow down for.
    const receiver = await startReceiver(t, (request) => request.answer(404));
    const options = { retry_policy: { schedule_seconds: [] } };
    const paused = await api.subscribed(receiver.url, 'order.forced', options);
    await api.subscribed(receiver.url, 'order.brought-back', options);
    const forced = await publishMany(api, 'order.forced', 20);
    const broughtBack = await publishMany(api, 'order.brought-back', 20);
    for (const id of [...forced, ...broughtBack]) assert.equal((await api.deliveryEnds(id)).status, 'dead');
    await api.change(paused.id, { status: 'paused' });
    receiver.respond = hold;

    const done = randomInt(1, 20);
    for (let i = 0; i < done; i++) {
      assert.equal((await api.retry(forced[i]!)).status, 'retrying');
      assert.equal((await api.replayDead(broughtBack[i]!)).status, 'pending');
    }
    await service.kill();
    t.diagnostic(`killed after ${done} of each`);
    await service.start();

    const sent = [...forced.slice(0, done), ...broughtBack.slice(0, done)];
    await areSentAgain(receiver, sent);
    for (const id of sent) {
      const { status, dead_reason: reason, retries } = await api.deliveryEnds(id);
      assert.deepEqual([status, reason], ['succeeded', null]);
      const trigger = forced.includes(id) ? 'manual' : 'schedule';
      assert.deepEqual(triggersAndCodes(retries), [
        ['schedule', 404],
        [trigger, 200],
      ]);
    }
    for (const id of [...forced.slice(done), ...broughtBack.slice(done)]) {
      assert.equal((await api.delivery(id)).attempt_count, 1, 'nobody asked for more');
    }
  });

  test('retries go on where they were', async (t) => {
    const service = await startService(t);
    const api = new Api(service);
    const receiver = await startReceiver(t, (request) => request.answer(request.attempt < 4 ? 404 : 200));
    await api.subscribed(receiver.url, 'order.paid', { retry_policy: { schedule_seconds: [1, 1, 1], jitter: 0 } });
    const ids = await publishMany(api, 'order.paid', 20);
    for (const moment of [randomInt(1, 20), randomInt(20, 60)]) {
      await receiver.arrived(moment);
      await service.kill();
      t.diagnostic(`killed after ${receiver.requests.length} requests`);
      await service.start();
    }
    for (const id of ids) {
      const { status, retries } = await api.deliveryEnds(id);
      assert.equal(status, 'succeeded', id);
      // An attempt that the power cut off is not recorded and uses up no retry.
      assert.deepEqual(
        retries.map(({ response_code: code }) => code),
        [404, 404, 404, 200],
      );
    }
  });
});

function publishMany(api: Api, type: string, count: number): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, (_, n) => api.publishToOne(type, { n })));
}

/** Posts every event that `promised` lacks, over several connections, until the service is gone or none is left. */
async function postUntil(api: Api, promised: Map<number, string>, onAccepted: (count: number) => Promise<void>) {
  let missing = Array.from({ length: EVENTS }, (_, n) => n).filter((n) => !promised.has(n));
  const post = async (n: number): Promise<void> => {
    const event = { type: 'order.paid', body: { n }, idempotency_key: `order-${n}` };
    const answer = await api.send<Event>('POST', '/v1/events', event).catch(() => null);
    if (answer === null) return void (missing = []);
    assert.ok(answer.status === 202 || answer.status === 200, answer.text);
    promised.set(n, answer.body.event_id);
    await onAccepted(promised.size);
  };
  const connection = async (): Promise<void> => {
    for (let n = missing.shift(); n !== undefined; n = missing.shift()) await post(n);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, connection));
}

/** Each comes as its second attempt from the process that runs now, and is let through. */
async function areSentAgain(receiver: Receiver, ids: string[]): Promise<void> {
  for (const id of ids) {
    await receiver.arrival(
      ({ deliveryId, attempt, isGivenUp }) => deliveryId === id && attempt === 2 && !isGivenUp,
      `${id} again`,
    );
  }
  receiver.respond = ok;
  for (const request of receiver.requests) if (!request.isGivenUp && request.answeredAt === null) request.answer(200);
}

function triggersAndCodes(retries: { trigger: string; response_code: number | null }[]) {
  return retries.map(({ trigger, response_code: code }) => [trigger, code]);
}

async function allSucceed(api: Api, count: number): Promise<void> {
  for (const status of ['pending', 'retrying']) {
    const path = `/v1/deliveries?limit=1&status=${status}`;
    await api.eventually(
      () => api.expect<Page<Delivery>>(200, 'GET', path),
      ({ data }) => data.length === 0,
    );
  }
  assert.equal((await api.all<Delivery>('/v1/deliveries?status=succeeded')).length, count);
}
