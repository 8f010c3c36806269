// The map for what comes and goes with every event: what a Map does, but nothing that was deleted grows old.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getHeapSpaceStatistics } from 'node:v8';
import { LinkedMap } from '../../src/runtime/linked-map.ts';
import { collectGarbage } from '../support/collect-garbage.ts';

type Key = string | number;

test('does what a Map does, whatever comes and goes', () => {
  const mine = new LinkedMap<Key, { at: number }>();
  const reference = new Map<Key, { at: number }>();
  let state = 12_345;
  const random = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor(state / 65_536) % below;
  };
  for (let i = 0; i < 20_000; i++) {
    // Numbers, and texts of which some end alike, and are shorter than what is looked at.
    const n = random(300);
    const key = [n, `${n}`, `dlv_${n}`, `${n}_the same end`][random(4)]!;
    // Phases in which it fills, and others in which it empties.
    if (random(10) < (Math.floor(i / 2_000) % 2 === 0 ? 7 : 3)) {
      mine.set(key, { at: i });
      reference.set(key, { at: i });
    } else {
      assert.equal(mine.delete(key), reference.delete(key));
    }
    assert.equal(mine.size, reference.size);
    assert.equal(mine.has(key), reference.has(key));
    assert.deepEqual(mine.get(key), reference.get(key));
    assert.deepEqual(mine.oldest(), reference.values().next().value ?? null);
    if (i % 100 === 0) assert.deepEqual(mine.values(), [...reference.values()]);
  }
});

test('what was deleted does not grow old', () => {
  const map = new LinkedMap<number, object>();
  const live = 12;
  const add = (id: number): void => {
    map.set(
      id,
      Array.from({ length: 300 }, (_, i) => ({ i })),
    );
    map.delete(id - live);
  };
  for (let id = 0; id < live; id++) add(id);
  // Now the table itself is old. With a Map, each of its successors would be kept by the one before.
  collectGarbage({ type: 'major' });
  const before = oldBytes();
  const events = 4_000;
  for (let id = live; id < events; id++) {
    add(id);
    if (id % 100 === 0) collectGarbage({ type: 'minor' });
  }
  collectGarbage({ type: 'minor' });
  assert.equal(map.size, live);
  const grown = oldBytes() - before;
  const bytesOfAll = events * 300 * 24;
  assert(grown < bytesOfAll / 20, `${grown} bytes more in the old generation, of ${bytesOfAll} that came and went`);
});

function oldBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')!.space_used_size;
}
