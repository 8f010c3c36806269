// Batches that were left for other nodes do not pile up in the store, and a node that leaves none asks nothing of it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Dropping } from '../../src/stream/outgoing.ts';
import { ManualClock } from '../support/manual-clock.ts';

function create() {
  const clock = new ManualClock();
  const droppedAt: number[] = [];
  const drop = async () => void droppedAt.push(clock.monotonic() / 1_000);
  const dropping = new Dropping({ clock, drop, onError: (error) => assert.fail(String(error)) });
  const pass = (seconds: number): void => clock.advance(seconds * 1_000);
  return { clock, droppedAt, dropping, pass };
}

test('old batches are dropped every ten seconds until the last one is old, too', () => {
  const { droppedAt, dropping, pass } = create();
  pass(60);
  assert.deepEqual(droppedAt, []);
  dropping.noteBatch();
  pass(5);
  dropping.noteBatch();
  pass(300);
  // The last was left at 65 s, and is a minute old at 125 s.
  assert.deepEqual(droppedAt, [70, 80, 90, 100, 110, 120, 130, 140, 150]);
});

test('a drop that fails is reported, and tried again', async () => {
  const { clock } = create();
  const errors: unknown[] = [];
  let drops = 0;
  const drop = (): Promise<void> => (drops++ === 0 ? Promise.reject(new Error('away')) : Promise.resolve());
  const dropping = new Dropping({ clock, drop, onError: (error) => void errors.push(error) });
  dropping.noteBatch();
  clock.advance(10_000);
  clock.advance(10_000);
  await Promise.resolve();
  assert.deepEqual([drops, errors.length], [2, 1]);
});

test('nothing is dropped after the end', () => {
  const { droppedAt, dropping, pass } = create();
  dropping.noteBatch();
  dropping.close();
  dropping.noteBatch();
  pass(100);
  assert.deepEqual(droppedAt, []);
});
