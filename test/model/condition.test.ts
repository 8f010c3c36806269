// What is said of a destination: a state for every case, and a sentence for every outcome.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { OUTCOMES, type Outcome } from '../../src/model/attempt.ts';
import { stateOf, summaryOf, type DestinationCondition } from '../../src/model/condition.ts';
import type { PausedReason } from '../../src/model/destination.ts';

const NOW = Date.UTC(2026, 0, 2, 15, 0, 0);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const NOTHING: DestinationCondition = {
  activity: null,
  failingSince: null,
  failureCount: 0,
  heldUntil: null,
  unfinished: 0,
  dueAt: null,
};

function conditionOf(
  parts: Partial<DestinationCondition>,
  outcome: Outcome | null = null,
  responseCode: number | null = null,
) {
  const lastFailure = outcome === null ? null : { at: NOW - HOUR, outcome, responseCode, error: 'x' };
  const activity = {
    destinationId: 'dst_1',
    environment: 1,
    reportedAt: NOW,
    lastAttemptAt: NOW - HOUR,
    lastSuccessAt: null,
    lastFailure,
    inFlight: 0,
    inFlightLimit: 50,
  } as const;
  return { ...NOTHING, activity, ...parts };
}

describe('the state of a destination', () => {
  const state = (
    status: 'active' | 'paused',
    failures: number,
    failingForMs: number | null,
    lastAttemptAgoMs: number | null,
  ) =>
    stateOf({
      destination: { status },
      health: { failureCount: failures, failingSince: failingForMs === null ? null : NOW - failingForMs },
      lastAttemptAt: lastAttemptAgoMs === null ? null : NOW - lastAttemptAgoMs,
      now: NOW,
    });

  test('is the first of paused, failing, idle and healthy that holds', () => {
    const table = [
      ['paused', 'paused', 10, DAY, null],
      ['failing', 'active', 3, 0, 0],
      ['failing', 'active', 1, 10_000, 0],
      ['failing', 'active', 5, 3 * DAY, 2 * DAY],
      ['healthy', 'active', 2, 9_999, 0],
      ['healthy', 'active', 0, null, DAY - 1],
      ['idle', 'active', 0, null, DAY],
      ['idle', 'active', 0, null, null],
    ] as const;
    for (const [expected, status, failures, failingFor, ago] of table) {
      assert.equal(state(status, failures, failingFor, ago), expected);
    }
  });
});

describe('the summary of a destination', () => {
  const failing = (outcome: Outcome | null, code: number | null = null, parts: Partial<DestinationCondition> = {}) => {
    const condition = conditionOf({ failingSince: NOW - HOUR, failureCount: 3, ...parts }, outcome, code);
    return summaryOf({ state: 'failing', destination: { status: 'active', pausedReason: null }, condition, now: NOW });
  };
  const paused = (pausedReason: PausedReason, parts: Partial<DestinationCondition> = {}) => {
    const condition = conditionOf({ failingSince: NOW - DAY, ...parts }, 'timed_out');
    return summaryOf({ state: 'paused', destination: { status: 'paused', pausedReason }, condition, now: NOW });
  };
  const active = (state: 'healthy' | 'idle', parts: Partial<DestinationCondition>) =>
    summaryOf({
      state,
      destination: { status: 'active', pausedReason: null },
      condition: conditionOf(parts),
      now: NOW,
    });

  test('says what fails, since when, how much waits and when the next try is', () => {
    const waits = { unfinished: 1_204, dueAt: NOW + 40_000 };
    assert.equal(
      failing('connect_failed', null, waits),
      'refuses connections since 14:00 UTC; 1,204 wait; next try in 40 s',
    );
    assert.equal(
      failing('bad_status', 503, { unfinished: 1, dueAt: NOW - 5 }),
      'answers 503 since 14:00 UTC; 1 waits; next try now',
    );
    assert.equal(
      failing('timed_out', null, { failingSince: NOW - DAY }),
      'does not answer in time since 2026-01-01 15:00 UTC',
    );
    assert.equal(failing(null, null, { failingSince: null }), 'fails');
    const held = { unfinished: 2, dueAt: NOW + 1_000, heldUntil: NOW + 3 * HOUR };
    assert.match(failing('bad_status', 429, held), /^answers 429 .*; next try in 3 h$/);
  });

  test('is a sentence of its own for every outcome that can fail', () => {
    const failures = OUTCOMES.filter((outcome) => outcome !== 'succeeded' && outcome !== 'cancelled');
    const sentences = failures.map((outcome) => failing(outcome));
    assert.equal(new Set(sentences).size, failures.length);
    for (const sentence of sentences) assert.match(sentence, /^[a-z][\w ,-]+ since 14:00 UTC$/i);
  });

  test('says why a destination is paused, and never when it is tried next', () => {
    const waits = { unfinished: 3, dueAt: NOW };
    assert.equal(paused('manual', waits), 'paused by hand; 3 wait');
    assert.equal(paused('gone'), 'paused: it answered 410 Gone, and wants nothing any more');
    assert.equal(
      paused('failing', waits),
      'paused after failing for too long: does not answer in time since 2026-01-01 15:00 UTC; 3 wait',
    );
  });

  test('of one that has just failed says so before it counts as failing', () => {
    const failed = { failingSince: NOW - 1_000, failureCount: 1, unfinished: 1, dueAt: NOW + 4_000 };
    assert.equal(active('healthy', failed), 'the last attempt failed; 1 waits; next try in 4 s');
    assert.equal(
      active('healthy', conditionOf(failed, 'bad_status', 500)),
      'the last attempt failed: answers 500; 1 waits; next try in 4 s',
    );
  });

  test('of one that is well says so, or what it waits for', () => {
    assert.equal(active('healthy', {}), 'works');
    assert.equal(active('healthy', { unfinished: 12, dueAt: NOW }), 'works; 12 wait');
    assert.equal(
      active('healthy', { heldUntil: NOW + 90_000, failingSince: NOW, unfinished: 5 }),
      'asked to wait for 90 s more; 5 wait',
    );
    assert.equal(active('idle', {}), 'nothing was sent in 24 hours');
    assert.equal(
      active('idle', { unfinished: 1, dueAt: NOW + 2 * DAY }),
      'nothing was sent in 24 hours; 1 waits; next try in 2 d',
    );
  });
});
