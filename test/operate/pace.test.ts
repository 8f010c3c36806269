// How much each destination is given, by the milliseconds of a clock that is handed in.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DestinationId } from '../../src/model/id.ts';
import { Pace } from '../../src/operate/pace.ts';

const [ONE, OTHER] = ['dst_1', 'dst_2'] as [DestinationId, DestinationId];

function takeAll(pace: Pace, id: DestinationId, at: number): number {
  let taken = 0;
  while (pace.take(id, at)) taken++;
  return taken;
}

test('each destination gets a quarter of a second’s worth at once, and then its rate', () => {
  const pace = new Pace(400, () => false);
  assert.deepEqual([takeAll(pace, ONE, 0), takeAll(pace, OTHER, 0)], [100, 100]);
  assert.equal(pace.waitMs(ONE, 0), 250);
  assert.equal(takeAll(pace, ONE, 50), 20);
  assert.equal(takeAll(pace, ONE, 10_000), 100);
});

test('one that does not keep up gets no more than the default rate until it does, and the others their own', () => {
  let late: DestinationId | null = null;
  const pace = new Pace(10_000, (id) => id === late);
  assert.equal(takeAll(pace, ONE, 0), 2_500);
  late = ONE;
  assert.equal(takeAll(pace, ONE, 1_000), 25);
  assert.equal(takeAll(pace, OTHER, 1_000), 2_500);
  assert.equal(pace.waitMs(ONE, 1_000), 250);
  late = null;
  assert.equal(takeAll(pace, ONE, 2_000), 2_500);
  const slow = new Pace(20, () => true);
  assert.deepEqual([takeAll(slow, ONE, 0), takeAll(slow, ONE, 100)], [5, 2]);
});
