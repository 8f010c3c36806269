// The node of the embedded store: how soon it notices that its files were taken away, and what it does then.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSoleNode } from '../../src/cluster/sole-node.ts';
import { createIds } from '../../src/runtime/ids.ts';
import { SeededRandom } from '../sim/seeded-random.ts';
import { VirtualClock } from '../sim/virtual-clock.ts';

test('it steps aside within two seconds of the trouble, tells of it once, and goes on when it is over', async () => {
  const clock = new VirtualClock();
  const ids = createIds(clock, new SeededRandom(1));
  const files: { trouble: string | null } = { trouble: null };
  const told: string[] = [];
  const node = createSoleNode({
    node: { id: ids.next('nod'), name: 'here', version: '1' },
    store: { findTrouble: async () => files.trouble },
    clock,
    onTrouble: (trouble) => told.push(trouble),
    onRecovered: () => told.push('recovered'),
    onError: (error) => assert.fail(String(error)),
  });
  const destination = ids.next('dst');
  const sees = async (trouble: string | null): Promise<void> => {
    files.trouble = trouble;
    await clock.run(2_000);
    const isInPlace = trouble === null;
    assert.equal(node.ownership.isAlive(), isInPlace);
    assert.equal(node.ownership.mayStart(destination), isInPlace);
    assert.deepEqual(node.troubles(), isInPlace ? [] : [`the data directory was replaced or removed: ${trouble}`]);
  };
  await node.join('127.0.0.1:1');
  await sees(null);
  await sees('postrider.db is gone');
  await clock.run(60_000);
  await sees('postrider.db is another file than the one that was opened');
  await sees(null);
  await sees('server.lock is gone');
  assert.deepEqual(told, ['postrider.db is gone', 'recovered', 'server.lock is gone']);
  await node.close();
  await sees('server.lock is gone');
});
