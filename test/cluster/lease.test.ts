// A node stops sending well before others may take its shards, whatever its clocks do.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createLease } from '../../src/cluster/lease.ts';
import { systemClock } from '../../src/runtime/clock.ts';

const LEASE_MS = 10_000;

function leaseOn(time: { now: number; monotonic: number }) {
  return createLease({ ...systemClock, now: () => time.now, monotonic: () => time.monotonic }, LEASE_MS);
}

describe('a lease', () => {
  test('is held for 70 % of its time, from before it was asked for', () => {
    const time = { now: 1_000_000, monotonic: 50 };
    const lease = leaseOn(time);
    assert.equal(lease.isHeld(), false, 'not before the store has confirmed it');
    lease.renew({ now: time.now - 2_000, monotonic: time.monotonic - 2_000 });
    for (const [passedMs, isHeld] of [
      [0, true],
      [4_999, true],
      [5_000, false],
    ] as const) {
      assert.equal(leaseAfter(passedMs), isHeld, `${passedMs} ms`);
    }

    function leaseAfter(passedMs: number): boolean {
      const at = { now: time.now, monotonic: time.monotonic };
      time.now += passedMs;
      time.monotonic += passedMs;
      const isHeld = lease.isHeld();
      Object.assign(time, at);
      return isHeld;
    }
  });

  test('ends when either clock says so: a machine that slept, or a process that was stopped', () => {
    for (const passed of [
      { now: 7_000, monotonic: 0 },
      { now: 0, monotonic: 7_000 },
      { now: -7_000, monotonic: 0 },
    ]) {
      const time = { now: 1_000_000, monotonic: 50 };
      const lease = leaseOn(time);
      lease.renew({ ...time });
      time.now += passed.now;
      time.monotonic += passed.monotonic;
      assert.equal(lease.isHeld(), false, JSON.stringify(passed));
    }
  });

  test('is over when the others gave this node up, until it has joined anew', () => {
    const time = { now: 1_000_000, monotonic: 50 };
    const lease = leaseOn(time);
    lease.renew({ ...time });
    lease.lose();
    assert.equal(lease.isHeld(), false);
    lease.renew({ ...time });
    assert.equal(lease.isHeld(), true);
  });
});
