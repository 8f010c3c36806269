// Who takes and gives which shard: whatever nodes come and go, all end with their share, and then nothing moves.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { planShares } from '../../src/cluster/shares.ts';
import type { NodeId } from '../../src/model/id.ts';

const SHARDS = 256;
const GIVE_MAX = 16;
const NOBODY: readonly (NodeId | null)[] = Array.from({ length: SHARDS }, () => null);

const nodeOf = (n: number): NodeId => `nod_${String(n).padStart(2, '0')}`;
const countOf = (owners: readonly (NodeId | null)[], node: NodeId | null): number =>
  owners.filter((owner) => owner === node).length;

function planOf(me: NodeId, nodes: readonly NodeId[], owners: readonly (NodeId | null)[], giveMax = GIVE_MAX) {
  const nothing: ReadonlySet<number> = new Set();
  return planShares({ me, nodes, owners, giving: nothing, leftOver: nothing, isStable: true, giveMax });
}

/** One second of all nodes, each acting on what it sees in turn. Returns how many shards each gave. */
function second(nodes: readonly NodeId[], owners: (NodeId | null)[]): number[] {
  return nodes.map((me) => {
    const { take, give } = planOf(me, nodes, owners);
    for (const shard of take) {
      assert.equal(owners[shard], null, 'only what is free is taken');
      owners[shard] = me;
    }
    for (const shard of give) {
      assert.equal(owners[shard], me, 'only what is ours is given');
      owners[shard] = null;
    }
    return give.length;
  });
}

function assertShared(nodes: readonly NodeId[], owners: readonly (NodeId | null)[]): void {
  assert.equal(countOf(owners, null), 0, 'somebody owns each');
  for (const node of nodes) {
    const count = countOf(owners, node);
    assert.ok(count >= Math.floor(SHARDS / nodes.length), `${node} has ${count} of ${nodes.length}`);
    assert.ok(count <= Math.ceil(SHARDS / nodes.length), `${node} has ${count} of ${nodes.length}`);
  }
}

const memberships = fc.array(fc.uniqueArray(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 12 }), {
  minLength: 1,
  maxLength: 6,
});

describe('shares', () => {
  test('the first node takes every shard', () => {
    const { take, give } = planOf(nodeOf(1), [nodeOf(1)], NOBODY);
    assert.deepEqual([take.length, give.length], [SHARDS, 0]);
  });

  test('nodes that see the same agree without talking', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), (count) => {
        const nodes = Array.from({ length: count }, (_, n) => nodeOf(n));
        const taken = nodes.flatMap((me) => planOf(me, nodes, NOBODY).take);
        assert.equal(taken.length, SHARDS);
        assert.equal(new Set(taken).size, SHARDS, 'no two take the same');
      }),
    );
  });

  test('whatever comes and goes, they end even, and then nothing moves', () => {
    fc.assert(
      fc.property(memberships, (history) => {
        const owners = [...NOBODY];
        for (const numbers of history) {
          const nodes = numbers.map(nodeOf);
          // Those that are gone were removed, and their shards freed.
          for (const [shard, owner] of owners.entries()) {
            if (owner !== null && !nodes.includes(owner)) owners[shard] = null;
          }
          for (let s = 0; s <= SHARDS / GIVE_MAX + 1; s++) {
            for (const given of second(nodes, owners)) assert.ok(given <= GIVE_MAX);
          }
          second(nodes, owners);
          assertShared(nodes, owners);
          const settled = [...owners];
          assert.deepEqual(new Set(second(nodes, owners)), new Set([0]));
          assert.deepEqual(owners, settled, 'it does not swing');
        }
      }),
      { numRuns: 60 },
    );
  });

  test('a node that joins two has its third within nine seconds, and no more moves than that', () => {
    const old = [nodeOf(1), nodeOf(2)];
    const owners: (NodeId | null)[] = NOBODY.map((_, shard) => old[shard % 2]!);
    const nodes = [...old, nodeOf(3)];
    let moved = 0;
    for (let s = 0; s < 9; s++) moved += second(nodes, owners).reduce((sum, given) => sum + given, 0);
    assertShared(nodes, owners);
    assert.equal(moved, Math.floor(SHARDS / 3));
  });

  test('nothing moves for balance while nodes come and go, but what is free is taken', () => {
    const nodes = [nodeOf(1), nodeOf(2)];
    const owners: (NodeId | null)[] = NOBODY.map((_, shard) => (shard < 200 ? nodes[0]! : null));
    const rest = { nodes, owners, giving: new Set<number>(), leftOver: new Set<number>(), giveMax: GIVE_MAX };
    assert.deepEqual(planShares({ ...rest, me: nodes[0]!, isStable: false }), { take: [], give: [] });
    assert.equal(planShares({ ...rest, me: nodes[1]!, isStable: false }).take.length, 56);
  });

  test('what its taker leaves for too long is anybody’s', () => {
    const nodes = [nodeOf(1), nodeOf(2)];
    const owners: (NodeId | null)[] = NOBODY.map((_, shard) => (shard < 128 ? nodes[0]! : null));
    const leftOver = new Set([200, 201]);
    const rest = { nodes, owners, giving: new Set<number>(), isStable: true, giveMax: GIVE_MAX };
    assert.deepEqual(planShares({ ...rest, me: nodes[0]!, leftOver }).take, [200, 201]);
  });

  test('a node that is leaving takes nothing, and counts for nothing', () => {
    const owners: (NodeId | null)[] = NOBODY.map((_, shard) => (shard < 128 ? nodeOf(1) : nodeOf(2)));
    assert.deepEqual(planOf(nodeOf(1), [nodeOf(2)], owners), { take: [], give: [] });
    assert.deepEqual(planOf(nodeOf(2), [nodeOf(2)], owners), { take: [], give: [] });
  });
});
