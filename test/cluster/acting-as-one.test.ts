// Whatever node is asked, the cluster answers as one: limits hold for all of it, a change holds everywhere once it is
// answered, and what one node accepts another sends.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Api } from '../e2e/api.ts';
import type { Service } from '../e2e/service.ts';
import type { PostgresServer } from '../store/postgres/server.ts';
import { sharedPostgres } from '../store/postgres/shared.ts';
import { Publisher, eventually, startStage, tally, type Stage } from './stage.ts';

type Two = [asked: Service, owner: Service];

describe('a cluster acts as one', () => {
  let server: PostgresServer;
  before(async () => {
    server = await sharedPostgres();
  });
  after(() => server.stop());

  test('limits, changes and keys hold on every node', async (t) => {
    const stage = await startStage(t, server, 2);
    const [asked, owner] = stage.nodes as Two;

    await t.test('max_in_flight', async () => {
      const receiver = await stage.receiver();
      let onWire = 0;
      let most = 0;
      receiver.respond = (request) => {
        most = Math.max(most, ++onWire);
        setTimeout(() => {
          onWire--;
          request.answer(200);
        }, 20);
      };
      await stage.destinationOf(owner, receiver, 'limited.to-three', { max_in_flight: 3 });
      const publisher = new Publisher(stage, ['limited.to-three']);
      await publisher.promisedCount(120);
      const result = await tally(receiver, await publisher.stop());
      t.diagnostic(`${JSON.stringify(result)}, at most ${most} on the wire of 3 allowed`);
      assert.equal(most, 3);
      assert.equal(result.duplicates, 0);
    });

    await t.test('rate_per_second', async () => {
      const receiver = await stage.receiver();
      const destination = await stage.destinationOf(owner, receiver, 'limited.to-twenty', { rate_per_second: 20 });
      const publish = (n: number) => stage.api(n % 2 === 0 ? asked : owner).publish('limited.to-twenty', { n });
      await Promise.all(Array.from({ length: 60 }, (_, n) => publish(n)));
      await receiver.arrived(60);
      // By the sender's log: how long connecting takes is not its doing.
      const times = await eventually(
        () => stage.attemptsAt(destination),
        ({ length }) => length === 60,
      );
      const tookMs = times.at(-1)! - times[0]!;
      // A burst of two, then one every 50 ms: 58 of those.
      t.diagnostic(`60 at 20 a second took ${tookMs} ms`);
      assert.ok(tookMs >= 58 * 50 - 10, `60 requests in ${tookMs} ms`);
    });

    await t.test('a pause, from its answer on', async () => {
      const receiver = await stage.receiver();
      const destination = await stage.destinationOf(owner, receiver, 'to-be.paused');
      const publisher = new Publisher(stage, ['to-be.paused']);
      await publisher.promisedCount(100);
      await stage.api(asked).change(destination.id, { status: 'paused' });
      const answeredAt = Date.now();
      await publisher.promisedCount(publisher.promised.size + 100);
      const promised = await publisher.stop();
      await stage.whenNothingIsSent(owner);
      const last = (await stage.attemptsAt(destination)).at(-1)!;
      t.diagnostic(`the last attempt began ${answeredAt - last} ms before the answer`);
      assert.ok(last <= answeredAt);
      await stage.api(asked).change(destination.id, { status: 'active' });
      assert.equal((await tally(receiver, promised)).duplicates, 0);
    });

    await t.test('a deletion, from its answer on', async () => {
      const receiver = await stage.receiver();
      const destination = await stage.destinationOf(owner, receiver, 'to-be.deleted');
      const publisher = new Publisher(stage, ['to-be.deleted']);
      await publisher.promisedCount(100);
      await stage.api(asked).expect(204, 'DELETE', `/v1/destinations/${destination.id}`);
      const answeredAt = Date.now();
      await publisher.promisedCount(publisher.promised.size + 100);
      await publisher.stop();
      await stage.whenNothingIsSent(owner);
      assert.ok((await stage.attemptsAt(destination)).at(-1)! <= answeredAt);
    });

    await t.test('a new signing key', async () => {
      const receiver = await stage.receiver();
      const destination = await stage.destinationOf(owner, receiver, 'to-be.rotated');
      await stage.api(asked).expect(201, 'POST', `/v1/destinations/${destination.id}/signing-keys/rotate`, {});
      await stage.api(asked).publish('to-be.rotated');
      const [request] = await receiver.arrived(1);
      assert.equal(request!.headers['webhook-signature']!.split(' ').length, 2, 'both keys sign');
    });

    await t.test('a revoked key', async () => {
      const input = { scopes: ['read'], mode: 'test' };
      const made = await stage.api(asked).expect<{ id: string; secret: string }>(201, 'POST', '/v1/api-keys', input);
      const other = new Api(owner, made.secret);
      await other.expect(200, 'GET', '/v1/destinations');
      await stage.api(asked).expect(204, 'DELETE', `/v1/api-keys/${made.id}`);
      const revokedAt = performance.now();
      await eventually(
        () => other.send('GET', '/v1/destinations'),
        ({ status }) => status === 401,
      );
      // Within a second, on a machine that has the time for it.
      t.diagnostic(`refused by the other node ${Math.round(performance.now() - revokedAt)} ms after the answer`);
    });

    await t.test('a subscription counts from its 201', async () => {
      const receiver = await stage.receiver();
      for (let n = 0; n < 10; n++) {
        const destination = await stage.api(asked).destination(receiver.url);
        await stage.api(asked).subscribe(destination, `just.made-${n}`);
        const { deliveries } = await stage.api(owner).publish(`just.made-${n}`);
        assert.equal(deliveries.length, 1);
      }
      await receiver.arrived(10);
    });

    await t.test('what one node accepts another sends, at once', () => measureLatency(t, stage, [asked, owner]));
    await t.test('retries and replays', () => retryAndReplay(stage, [asked, owner]));
  });

  test('a node that joins gets its share, and nothing is sent twice for it', async (t) => {
    const stage = await startStage(t, server, 1);
    const receiver = await stage.receiver();
    const types = Array.from({ length: 16 }, (_, i) => `order.kind-${i}`);
    for (const type of types) await stage.api(stage.nodes[0]!).subscribed(`${receiver.url}${type}`, type);
    const publisher = new Publisher(stage, types, { connections: 4, pauseMs: 50 });
    await publisher.promisedCount(50);
    await stage.addNode();
    const joinedAt = performance.now();
    const { data } = await stage.whenShared();
    const tookMs = performance.now() - joinedAt;
    const result = await tally(receiver, await publisher.stop());
    t.diagnostic(`${JSON.stringify(result)}, shared after ${Math.round(tookMs)} ms`);
    assert.deepEqual(
      data.map((node) => node.shards_owned),
      [128, 128],
    );
    assert.equal(result.duplicates, 0);
  });
});

async function measureLatency(
  t: { diagnostic: (message: string) => void },
  stage: Stage,
  [asked, owner]: Two,
): Promise<void> {
  const receiver = await stage.receiver();
  await stage.destinationOf(owner, receiver, 'as.soon-as-possible');
  const delays: number[] = [];
  for (let n = 0; n < 40; n++) {
    const { event_id: id } = await stage.api(asked).publish('as.soon-as-possible', { n });
    const acceptedAt = Date.now();
    const { at } = await receiver.arrival(({ eventId }) => eventId === id);
    delays.push(at - acceptedAt);
  }
  delays.sort((a, b) => a - b);
  t.diagnostic(`from the 202 to the other node's request: median ${delays[20]} ms, at most ${delays[39]} ms`);
}

async function retryAndReplay(stage: Stage, [asked, owner]: Two): Promise<void> {
  const receiver = await stage.receiver((request) => request.answer(404));
  const options = { retry_policy: { schedule_seconds: [] } };
  const destination = await stage.destinationOf(owner, receiver, 'to-be.sent-again', options);
  const api = stage.api(asked);
  const [forced, replayed] = [await api.publishToOne('to-be.sent-again'), await api.publishToOne('to-be.sent-again')];
  for (const id of [forced, replayed]) await api.deliveryEnds(id);
  receiver.respond = (request) => request.answer(200);
  await api.replayDead(replayed);
  await receiver.arrival(({ deliveryId, attempt }) => deliveryId === replayed && attempt === 2);
  await api.change(destination.id, { status: 'paused' });
  await api.retry(forced);
  await receiver.arrival(({ deliveryId, attempt }) => deliveryId === forced && attempt === 2);
}
