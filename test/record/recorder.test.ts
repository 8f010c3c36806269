// Writing results: together, decided again where another writer was first, and kept until they are stored.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OpenDelivery } from '../../src/model/delivery.ts';
import type { DestinationHealth } from '../../src/model/destination.ts';
import { resolveSchedule } from '../../src/model/retry-policy.ts';
import { Recorder } from '../../src/record/recorder.ts';
import type { RecordOutcome, ResultToRecord } from '../../src/store/store.ts';
import { VirtualClock } from '../sim/virtual-clock.ts';
import { openDelivery } from '../support/deliveries.ts';

type Write = (results: ResultToRecord[]) => RecordOutcome[];

const OPEN: OpenDelivery = openDelivery({ dueAt: 1 });

type AttemptToRecord = Parameters<Recorder['record']>[0];

function attempt(overrides: Partial<AttemptToRecord['result']> = {}, delivery: Partial<OpenDelivery> = {}) {
  const result = {
    outcome: 'bad_status',
    startedAt: 1_000,
    durationMs: 10,
    responseCode: 500,
    responseHeaders: [],
    responseBody: new Uint8Array(),
    responseBodyTruncated: false,
    error: 'the receiver answered 500',
    retryAfterAt: null,
    ...overrides,
  };
  return {
    delivery: { ...OPEN, ...delivery },
    trigger: 'schedule',
    result,
    schedule: resolveSchedule({ schedule_seconds: [10], jitter: 0 }),
    health: null,
    pauseDestination: null,
    isOurs: () => true,
  } as AttemptToRecord;
}

/** A recorder over a store whose every write is the next of `writes`; the last serves all that follow. */
function recorderOver(writes: Write[]) {
  const clock = new VirtualClock();
  const batches: ResultToRecord[][] = [];
  const healths: DestinationHealth[][] = [];
  const notes: string[] = [];
  const recorder = new Recorder({
    store: {
      async recordResults({ results, health }) {
        batches.push(results);
        healths.push(health);
        const write = writes.length > 1 ? writes.shift()! : writes[0]!;
        return { outcomes: write(results), paused: [] };
      },
    },
    clock,
    random: { bytes: (length) => new Uint8Array(length), fraction: () => 0 },
    onPaused: () => notes.push('paused'),
    onTrouble: () => notes.push('trouble'),
    onRecovered: () => notes.push(`recovered, writing: ${recorder.isWriting()}`),
  });
  return { recorder, clock, batches, healths, notes };
}

const recordAll: Write = (results) => results.map(() => ({ result: 'recorded' }));

test('results that come while one batch is written go together in the next', async () => {
  const { recorder, batches } = recorderOver([recordAll]);
  await Promise.all(Array.from({ length: 50 }, (_, i) => recorder.record(attempt({}, { id: `dlv_${i}` }))));
  assert.ok(batches.length <= 2, `${batches.length} batches`);
});

test('each result keeps its own headers, those of a receiver that says the same again too', async () => {
  const { recorder, batches } = recorderOver([recordAll]);
  const same = [['date', 'today']] as [string, string][];
  const headers = [same, same, null, [['date', 'tomorrow']], null, [], same] as (typeof same | null)[];
  for (const responseHeaders of headers) await recorder.record(attempt({ responseHeaders }));
  assert.deepEqual(
    batches.flat().map((result) => JSON.parse(result.attempt.responseHeaders ?? 'null')),
    headers,
  );
});

test('a result whose revision lost is decided again on what is there now', async () => {
  const moved = { ...OPEN, rev: 5, schedulePosition: 1 };
  const { recorder, batches } = recorderOver([() => [{ result: 'conflict', current: moved }], recordAll]);
  const { decision } = await recorder.record(attempt());
  assert.equal(batches[1]![0]!.rev, 5);
  // One delay in the schedule, and that is used up in what is there now.
  assert.deepEqual([decision?.status, decision?.deadReason], ['dead', 'exhausted']);
});

test('a late success changes nothing about a delivery that is finished; its history grows', async () => {
  const { recorder, batches } = recorderOver([() => [{ result: 'conflict', current: 'finished' }], recordAll]);
  const { decision } = await recorder.record(attempt({ outcome: 'succeeded', responseCode: 200 }));
  assert.equal(decision, null);
  assert.equal(batches[1]![0]!.decision, null);
  assert.equal(batches[1]![0]!.attempt.outcome, 'succeeded');
});

test('a cancelled attempt only adds to the history', async () => {
  const { recorder, batches } = recorderOver([recordAll]);
  await recorder.record(attempt({ outcome: 'cancelled' }));
  assert.equal(batches[0]![0]!.decision, null);
});

test('a result of a pruned delivery is dropped', async () => {
  const { recorder, batches } = recorderOver([() => [{ result: 'conflict', current: 'pruned' }]]);
  assert.deepEqual(await recorder.record(attempt()), { decision: null });
  assert.equal(batches.length, 1);
});

test('while results cannot be stored they are kept, and written when they can be', async () => {
  const fail: Write = () => {
    throw new Error('no room');
  };
  const { recorder, clock, batches, notes } = recorderOver([fail, fail, recordAll]);
  const recording = recorder.record(attempt());
  await clock.run(0);
  assert.equal(recorder.isWriting(), false);
  await clock.run(10_000);
  assert.equal((await recording).decision?.status, 'retrying');
  assert.equal(batches.length, 3);
  // Told of trouble once, however many tries fail. Whoever is told that results are stored again may start at once.
  assert.deepEqual(notes, ['trouble', 'recovered, writing: true']);
});

test('a destination that failed for too long is paused with the result that shows it', async () => {
  const { recorder, batches } = recorderOver([recordAll]);
  await recorder.record({ ...attempt(), pauseDestination: 'failing' });
  assert.equal(batches[0]![0]!.decision?.pauseDestination, 'failing');
});

function failed(failureCount: number): DestinationHealth {
  return { destinationId: 'dst_1', failingSince: 1, failureCount, heldUntil: null };
}

test('of several results of a destination the last one’s health is stored', async () => {
  const { recorder, healths } = recorderOver([recordAll]);
  const results = [1, 2, 3].map((n) => recorder.record({ ...attempt({}, { id: `dlv_${n}` }), health: failed(n) }));
  await Promise.all(results);
  assert.equal(healths.flat().at(-1)!.failureCount, 3);
  assert.ok(healths.every((health) => health.length <= 1));
});

test('a result that is decided again does not store its health again: a later one may be there by now', async () => {
  const conflict: Write = (results) =>
    results.map(({ id }) =>
      id === 'dlv_1' ? { result: 'conflict', current: { ...OPEN, rev: 1 } } : { result: 'recorded' },
    );
  const { recorder, healths, batches } = recorderOver([conflict, recordAll]);
  const first = recorder.record({ ...attempt(), health: failed(1) });
  const second = recorder.record({ ...attempt({}, { id: 'dlv_2' }), health: failed(2) });
  await Promise.all([first, second]);
  assert.equal(batches.flat().length, 3);
  assert.deepEqual(healths, [[failed(2)], []]);
});

test('results are written in the order in which they came', async () => {
  const { recorder, batches } = recorderOver([recordAll]);
  const ids = Array.from({ length: 2_500 }, (_, n) => `dlv_${n}` as const);
  await Promise.all(ids.map((id) => recorder.record(attempt({}, { id }))));
  assert.deepEqual(
    batches.flat().map(({ id }) => id),
    ids,
  );
  assert.ok(Math.max(...batches.map((batch) => batch.length)) <= 1_000);
});
