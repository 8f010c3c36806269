// Machines whose clocks differ from the database's: times are right all the same, whichever node accepts and whichever
// sends. The processes are real; only what they take for the time is wrong.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Event } from '../e2e/api.ts';
import type { Received, Receiver } from '../e2e/receiver.ts';
import type { Service } from '../e2e/service.ts';
import type { PostgresServer } from '../store/postgres/server.ts';
import { sharedPostgres } from '../store/postgres/shared.ts';
import { assertRate } from './limits.ts';
import { Publisher, eventually, startStage, tally, type Stage } from './stage.ts';

const WRONG_MS = 40_000;
const FAR_OFF_MS = 90_000;
/** Below a second clocks are left as they are; the rest is for a machine with much else to do. */
const NEAR_MS = 5_000;

let server: PostgresServer;
before(async () => {
  server = await sharedPostgres();
});
after(() => server.stop());

test('times are right on nodes whose clocks are not', async (t) => {
  const stage = await startStage(t, server, 1, { NODE_LEASE: '5s' });
  const ahead = await stage.addNode({}, wrongBy(WRONG_MS));
  const behind = await stage.addNode({}, wrongBy(-WRONG_MS));
  await stage.share();
  const right = stage.nodes[0]!;

  await t.test('whichever accepts and whichever sends', async () => {
    await Promise.all([ahead, behind].map((sender) => assertTimes(stage, sender, [right, ahead, behind])));
  });

  await t.test('a rate is held', async () => {
    const receiver = await stage.receiver();
    const destination = await stage.destinationOf(ahead, receiver, 'paced.by-ahead', { rate_per_second: 20 });
    const publisher = new Publisher(stage, ['paced.by-ahead'], { pauseMs: 100 });
    await publisher.promisedCount(60);
    const result = await tally(receiver, await publisher.stop());
    const starts = await eventually(
      () => stage.attemptsAt(destination),
      ({ length }) => length === result.promised,
    );
    assertRate(starts, { rate: 20, onWire: 0, forced: [], name: destination.url });
    assert.equal(result.duplicates, 0);
  });

  await t.test('all are ready, and nobody is given up', async () => {
    for (const node of stage.nodes) {
      assert.equal((await stage.api(node).send('GET', '/readyz')).status, 200);
      assert.doesNotMatch(node.output, /silent for longer/);
    }
    assert.equal((await stage.whenShared()).data.length, 3);
    for (const { last_heartbeat_at: at } of (await stage.report(ahead)).data) assertNear(Date.parse(at));
  });

  await t.test('one that dies is replaced', async () => {
    const lost = await stage.idOf(behind);
    await behind.kill();
    await eventually(
      () => stage.owners(),
      (owners) => !owners.includes(lost) && !owners.includes(null),
    );
  });
});

test('a node that is far off is not ready, and says so; what it sends all the same is right', async (t) => {
  const stage = await startStage(t, server, 1);
  const [right] = stage.nodes as [Service];
  const ahead = await stage.addNode({}, wrongBy(FAR_OFF_MS));
  const behind = await stage.addNode({}, wrongBy(-FAR_OFF_MS));
  await stage.share();
  for (const [node, how] of [
    [ahead, /clock of this machine is (89|90|91) s ahead of the database/],
    [behind, /clock of this machine is (89|90|91) s behind the database/],
  ] as const) {
    const { status, text } = await stage.api(node).send('GET', '/readyz');
    assert.equal(status, 503);
    assert.match(text, how);
  }
  await Promise.all([ahead, behind].map((sender) => assertTimes(stage, sender, [right, ahead, behind])));
  assert.equal((await stage.api(right).send('GET', '/readyz')).status, 200);
});

/** What each accepts leaves at once, and is told, signed, retried and held by the right time. */
async function assertTimes(stage: Stage, sender: Service, accepting: readonly Service[]): Promise<void> {
  await Promise.all(accepting.map((asked) => assertTimesOf(stage, { asked, sender })));
}

async function assertTimesOf(stage: Stage, { asked, sender }: { asked: Service; sender: Service }): Promise<void> {
  const type = `sent.by-${stage.nodes.indexOf(sender)}-for-${stage.nodes.indexOf(asked)}`;
  const retryAt = { value: 0 };
  const receiver = await stage.receiver(failTwice(retryAt));
  await stage.destinationOf(sender, receiver, type, { retry_policy: { schedule_seconds: [2, 2], jitter: 0 } });
  const event = await stage.api(asked).publish(type);
  const acceptedAt = Date.now();
  assertNear(Date.parse(event.created_at));
  assertNear(Date.parse(event.occurred_at));
  const [first, second, third] = (await receiver.arrived(3)) as [Received, Received, Received];
  assert.ok(first.at - acceptedAt < NEAR_MS, `${first.at - acceptedAt} ms until it left`);
  assertBetween(second.at - first.answeredAt!, 2_000 - 5, 2_000 + NEAR_MS);
  assertBetween(third.at, retryAt.value - 5, retryAt.value + NEAR_MS);
  for (const { headers, at } of [first, second, third]) {
    assert.ok(Math.abs(Number(headers['webhook-timestamp']) * 1_000 - at) < NEAR_MS);
  }
  await assertHistory(stage, { asked, event, receiver });
}

type Sent = { asked: Service; event: Event; receiver: Receiver };

async function assertHistory(stage: Stage, { asked, event, receiver }: Sent): Promise<void> {
  const delivery = await stage.api(asked).deliveryEnds(event.deliveries[0]!.id);
  assert.deepEqual(delivery.response_codes, [500, 503, 200]);
  for (const [i, { started_at: at }] of delivery.retries.entries()) {
    assert.ok(Math.abs(Date.parse(at) - receiver.requests[i]!.at) < NEAR_MS, `attempt ${i + 1} at ${at}`);
  }
  assertNear(Date.parse(delivery.completed_at!));
}

/** The second time with a date until which nothing may come: another machine's, and the right one. */
function failTwice(retryAt: { value: number }): (request: Received) => void {
  return (request) => {
    if (request.attempt === 1) return request.answer(500);
    if (request.attempt > 2) return request.answer(200);
    // A date has whole seconds.
    retryAt.value = Math.ceil(Date.now() / 1_000) * 1_000 + 4_000;
    request.answer(503, { headers: { 'retry-after': new Date(retryAt.value).toUTCString() } });
  };
}

function wrongBy(milliseconds: number): Record<string, string> {
  const preloaded = new URL('./wrong-clock.ts', import.meta.url).href;
  return { NODE_OPTIONS: `--import ${preloaded}`, WRONG_CLOCK_MS: String(milliseconds) };
}

function assertNear(at: number): void {
  assertBetween(at, Date.now() - NEAR_MS, Date.now() + NEAR_MS);
}

function assertBetween(value: number, min: number, max: number): void {
  assert.ok(value >= min && value <= max, `${value} is not between ${min} and ${max}`);
}
