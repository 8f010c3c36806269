// What nodes tell one another fits into a NOTIFY, comes out as it went in, and harms nobody who gets nonsense.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { createAnnouncer } from '../../src/cluster/announcer.ts';
import { decodeWakeUp, encodeWakeUp, type WakeUp } from '../../src/cluster/wake-up.ts';
import { FORCED_DUE_AT, type DueWork } from '../../src/model/delivery.ts';
import { idShard, type DestinationId } from '../../src/model/id.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createIds } from '../../src/runtime/ids.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { VirtualClock } from '../sim/virtual-clock.ts';

const NO_WAKE_UP = { due: [], shards: [], changed: [], acknowledged: [], hasMoved: false };
const PAYLOAD_BYTES_MAX = 7_999;
const ids = createIds(systemClock, systemRandom);
const destinations = (count: number): DestinationId[] => Array.from({ length: count }, () => ids.next('dst'));

/** What a node has heard after all texts. */
function heard(texts: readonly string[]): WakeUp {
  const all = texts.map(decodeWakeUp);
  return {
    due: all.flatMap(({ due }) => due),
    shards: all.flatMap(({ shards }) => shards),
    changed: all.flatMap(({ changed }) => changed),
    acknowledged: all.flatMap(({ acknowledged }) => acknowledged),
    hasMoved: all.some(({ hasMoved }) => hasMoved),
  };
}

const work = (count: number, dueAt: number): DueWork[] =>
  destinations(count).map((destinationId) => ({ destinationId, dueAt }));

const counts = fc.integer({ min: 0, max: 800 });

describe('wake-ups', () => {
  test('arrive as they were meant, in texts that fit', () => {
    fc.assert(
      fc.property(counts, counts, counts, fc.boolean(), (due, forced, acknowledged, hasMoved) => {
        const wakeUp: WakeUp = {
          due: [...work(due, systemClock.now()), ...work(forced, FORCED_DUE_AT)],
          shards: [],
          changed: [1, 2],
          acknowledged: destinations(acknowledged),
          hasMoved,
        };
        const texts = encodeWakeUp(wakeUp);
        for (const text of texts) assert.ok(Buffer.byteLength(text) <= PAYLOAD_BYTES_MAX);
        assert.deepEqual(heard(texts), wakeUp);
      }),
      { numRuns: 20 },
    );
  });

  test('name shards where destinations are too many', () => {
    const due = work(50_000, systemClock.now());
    const texts = encodeWakeUp({ ...NO_WAKE_UP, due });
    assert.equal(texts.length, 1);
    assert.ok(Buffer.byteLength(texts[0]!) <= PAYLOAD_BYTES_MAX);
    assert.deepEqual(
      heard(texts).shards,
      [...new Set(due.map(({ destinationId }) => idShard(destinationId)))].sort((a, b) => a - b),
    );
  });

  test('of a node of an earlier version, which does not say from when on, concern all that is unfinished', () => {
    const [destinationId] = destinations(1);
    const { due } = decodeWakeUp(JSON.stringify({ f: 1, due: [destinationId] }));
    assert.deepEqual(due, [{ destinationId, dueAt: FORCED_DUE_AT }]);
  });

  test('that gather while they may not go yet name each destination once, from its earliest delivery on', async () => {
    const clock = new VirtualClock();
    const texts: string[] = [];
    const store = { announce: async (text: string) => void texts.push(text) };
    const announcer = createAnnouncer({ store, clock, onError: (error) => assert.fail(String(error)) });
    const [first, second] = [...work(2, 7_000)] as [DueWork, DueWork];
    announcer.announce({ due: [second] });
    await clock.run(1);
    texts.splice(0);
    for (const dueAt of [5_000, 3_000, 4_000]) announcer.announce({ due: [{ ...first, dueAt }] });
    announcer.announce({ due: [second, { ...second, dueAt: FORCED_DUE_AT }] });
    await clock.run(10);
    assert.deepEqual(heard(texts).due, [
      { ...first, dueAt: 3_000 },
      { ...second, dueAt: FORCED_DUE_AT },
    ]);
  });

  test('nothing to say is not said', () => {
    assert.deepEqual(encodeWakeUp(NO_WAKE_UP), []);
  });

  test('nonsense is left out', () => {
    for (const text of [
      '',
      '{',
      '[]',
      'null',
      '{"f":2,"moved":true}',
      '{"f":1,"due":"x","changed":["1"],"shards":3}',
    ]) {
      assert.deepEqual(decodeWakeUp(text), NO_WAKE_UP, text);
    }
    assert.deepEqual(decodeWakeUp('{"f":1,"due":["dst_1", 7, null]}'), NO_WAKE_UP);
    const [destinationId] = destinations(1);
    const text = JSON.stringify({ f: 1, due: [destinationId, destinationId], from: ['x', 1.5] });
    assert.deepEqual(decodeWakeUp(text), NO_WAKE_UP);
  });
});
