// An operation in a cluster: asked for on any node, worked on by one, and gone on with by another when that one dies.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Delivery } from '../e2e/api.ts';
import { startStage } from './stage.ts';
import { sharedPostgres } from '../store/postgres/shared.ts';
import type { PostgresServer } from '../store/postgres/server.ts';

type Operation = { id: string; status: string; total: number; done: number; failed: number; skipped: number };

const EVENTS = 600;
const LEASE = { NODE_LEASE: '2500ms' };

let server: PostgresServer;
before(async () => {
  server = await sharedPostgres();
});
after(() => server.stop());

test('an operation goes on where its node has died, and meets each delivery once', async (t) => {
  const stage = await startStage(t, server, 2, LEASE);
  const receiver = await stage.receiver((request) => request.answer(404));
  // Operations are worked on by the owner of the first shard.
  const [owner] = await stage.owners();
  const ids = await Promise.all(stage.nodes.map((node) => stage.idOf(node)));
  const worker = stage.nodes[ids.indexOf(owner!)]!;
  const other = stage.nodes.find((node) => node !== worker)!;
  const api = stage.api(other);
  const once = { retry_policy: { schedule_seconds: [] }, max_in_flight: 100 };
  const { id: destination } = await api.subscribed(receiver.url, 'order.paid', once);
  const events = Array.from({ length: EVENTS }, (_, n) => ({ type: 'order.paid', body: { n } }));
  await api.expect(200, 'POST', '/v1/events/batch', { events });
  const path = `/v1/destinations/${destination}/recover`;
  await api.eventually(
    () => api.expect<{ count: number }>(200, 'POST', path, { since: '2020-01-01', dry_run: true }),
    ({ count }) => count === EVENTS,
  );
  const again = new Set<string>();
  receiver.respond = (request) => {
    again.add(request.deliveryId);
    request.answer(200);
  };
  const { id } = await api.expect<Operation>(202, 'POST', path, { since: '2020-01-01', per_second: 200 });
  const read = (): Promise<Operation> => api.expect<Operation>(200, 'GET', `/v1/operations/${id}`);
  const { done } = await api.eventually(read, (operation) => operation.done > 0);
  await worker.kill();
  t.diagnostic(`its node was killed after ${done} of ${EVENTS}`);
  const { status, ...counts } = await api.eventually(read, (operation) => operation.status !== 'running');
  assert.equal(status, 'done');
  const { total, failed, skipped } = counts;
  assert.deepEqual([total, counts.done, failed, skipped], [EVENTS, EVENTS, 0, 0]);
  await receiver.until(() => again.size === EVENTS, 'every delivery');
  await api.eventually(
    () => api.expect<{ data: Delivery[] }>(200, 'GET', '/v1/deliveries?status=pending&limit=1'),
    ({ data }) => data.length === 0,
  );
  const attempts = (await api.all<Delivery>('/v1/deliveries')).map(({ attempt_count: count }) => count);
  assert.deepEqual(new Set(attempts), new Set([2]));
});
