// Ids: TypeID text over UUIDv7 bytes, strictly increasing, with their time and shard in them.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { firstIdBytesAt, formatId, idBytes, idShard, idTime, isId } from '../../src/model/id.ts';
import { createIds } from '../../src/runtime/ids.ts';
import { systemRandom } from '../../src/runtime/random.ts';

const bytes16 = fc.uint8Array({ minLength: 16, maxLength: 16 });

describe('the text of an id', () => {
  // Published with the TypeID specification.
  const vectors = [
    ['00000000-0000-0000-0000-000000000000', '00000000000000000000000000'],
    ['ffffffff-ffff-ffff-ffff-ffffffffffff', '7zzzzzzzzzzzzzzzzzzzzzzzzz'],
    ['01890a5d-ac96-774b-bcce-b302099a8057', '01h455vb4pex5vsknk084sn02q'],
  ] as const;
  for (const [uuid, suffix] of vectors) {
    test(`of ${uuid}`, () => {
      const bytes = new Uint8Array(Buffer.from(uuid.replaceAll('-', ''), 'hex'));
      assert.equal(formatId('evt', bytes), `evt_${suffix}`);
      assert.deepEqual(idBytes(`evt_${suffix}`), bytes);
    });
  }

  test('is read back, and sorts as its bytes do', () => {
    fc.assert(
      fc.property(bytes16, bytes16, (a, b) => {
        assert.deepEqual(idBytes(formatId('dlv', a)), a);
        assert.equal(Math.sign(Buffer.compare(a, b)), compare(formatId('dlv', a), formatId('dlv', b)));
      }),
    );
  });

  test('in any other form is no id', () => {
    const good = formatId('evt', new Uint8Array(16));
    assert.equal(isId('evt', good), true);
    for (const bad of ['', 'evt_', good.toUpperCase(), `${good}0`, good.slice(0, -1), good.replace('evt', 'dst')]) {
      assert.equal(isId('evt', bad), false, bad);
    }
    assert.equal(isId('evt', 'evt_80000000000000000000000000'), false, 'more than 128 bits');
    assert.equal(isId('evt', 'evt_0000000000000000000000000l'), false, 'a letter that is no digit');
  });
});

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A clock that shows what it is told to. */
function shownClock(start: number) {
  const clock = {
    shows: start,
    now: () => clock.shows,
    monotonic: () => 0,
    setTimer: () => ({ cancel() {} }),
    afterTurn() {},
  };
  return clock;
}

test('ids increase strictly, even within a millisecond and when the clock goes back a little', () => {
  const clock = shownClock(1_000);
  const ids = createIds(clock, systemRandom, () => assert.fail('it was not set back'));
  let last = '';
  for (const now of [1_000, 1_000, 980, 950, 1_001]) {
    clock.shows = now;
    for (let i = 0; i < 6_000; i++) {
      const id = ids.next('evt');
      assert.ok(id > last);
      last = id;
    }
  }
});

test('ids follow a clock that is set back after it was wrong, tell so once, and are never twice the same', () => {
  const HOUR = 3_600_000;
  const clock = shownClock(HOUR);
  const told: number[] = [];
  const ids = createIds(clock, systemRandom, (leadMs) => told.push(leadMs));
  const all = new Set<string>();
  const make = (now: number): void => {
    clock.shows = now;
    for (let i = 0; i < 1_000; i++) {
      const id = ids.next('evt', 7);
      assert.equal(idTime(id), now);
      all.add(id);
    }
  };
  make(HOUR);
  make(2 * HOUR);
  assert.deepEqual(told, []);
  for (const now of [HOUR, HOUR + 1, HOUR + 2]) make(now);
  assert.deepEqual(told, [HOUR]);
  assert.equal(all.size, 5_000, 'also where a time comes again');
});

test('an id names its time and its shard', () => {
  fc.assert(
    fc.property(fc.nat(2 ** 40), fc.nat(255), (time, shard) => {
      const clock = { now: () => time, monotonic: () => 0, setTimer: () => ({ cancel() {} }), afterTurn() {} };
      const id = createIds(clock, systemRandom).next('dlv', shard);
      assert.equal(idTime(id), time);
      assert.equal(idShard(id), shard);
      assert.equal(idBytes(id)[6]! >> 4, 7, 'version');
      assert.equal(idBytes(id)[8]! >> 6, 2, 'variant');
      assert.ok(Buffer.compare(firstIdBytesAt(time), idBytes(id)) <= 0);
      assert.ok(Buffer.compare(firstIdBytesAt(time + 1), idBytes(id)) > 0);
    }),
  );
});
