// What others announce of their batches, be they nodes or anybody who may connect to the database.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeId } from '../../src/model/id.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createIds } from '../../src/runtime/ids.ts';
import { Incoming } from '../../src/stream/incoming.ts';
import { SeededRandom } from '../sim/seeded-random.ts';

const ids = createIds(systemClock, new SeededRandom(1));

test('of very many nodes that are announced the last thousand are read from, four at a time', async () => {
  const asked: NodeId[] = [];
  let underWay = 0;
  let atOnce = 0;
  const incoming = new Incoming({
    environment: 1,
    store: {
      readMessages: async ({ node }) => {
        asked.push(node!);
        underWay++;
        atOnce = Math.max(atOnce, underWay);
        await new Promise(setImmediate);
        underWay--;
        return [];
      },
    },
    clock: systemClock,
    onReceived: () => {},
    onError: (error) => assert.fail(String(error)),
  });
  const nodes = Array.from({ length: 3_000 }, () => ids.next('nod'));
  for (const node of nodes) incoming.note(node, 5, true);
  incoming.begin();
  while (asked.length < 1_000 || underWay > 0) await new Promise(setImmediate);
  assert.deepEqual(asked, nodes.slice(-1_000));
  assert.equal(atOnce, 4);
});
