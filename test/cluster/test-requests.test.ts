// A destination is tested once a second at most, whichever nodes are asked.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { PostgresServer } from '../store/postgres/server.ts';
import { sharedPostgres } from '../store/postgres/shared.ts';
import { startStage } from './stage.ts';

const SENT_MIN = 5;

let server: PostgresServer;
before(async () => {
  server = await sharedPostgres();
});
after(() => server.stop());

test('of tests that two nodes are asked for without a pause one a second is sent', async (t) => {
  const stage = await startStage(t, server, 2);
  const receiver = await stage.receiver();
  const { id } = await stage.api(stage.nodes[0]!).destination(receiver.url);
  const send = (n: number) => stage.api(stage.nodes[n]!).send('POST', `/v1/destinations/${id}/test`, {});
  const startedAt = performance.now();
  const statuses = new Set<number>();
  while (receiver.requests.length < SENT_MIN) {
    for (const { status } of await Promise.all([send(0), send(1)])) statuses.add(status);
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  assert.deepEqual(statuses, new Set([200, 429]));
  const { length: sent } = receiver.requests;
  assert.ok(sent <= 1 + seconds, `${sent} in ${seconds} s`);
});
