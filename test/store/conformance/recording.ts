// Recording results: what becomes of the delivery, whose result counts, what the history keeps.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DestinationHealth } from '../../../src/model/destination.ts';
import { ATTEMPTS_PAGE } from '../../../src/store/store.ts';
import { afterResult, triggerOf } from '../../../src/model/transitions.ts';
import { DAY, HOUR, LIVE, START, attempt, die, result, retryAt, succeed } from '../scene.ts';
import type { MakeScene } from './suite.ts';

export function testRecording(makeScene: MakeScene): void {
  describe('recording a result', () => testDecisions(makeScene));
  describe('a result that comes too late', () => testConflicts(makeScene));
  describe('the history', () => testHistory(makeScene));
  describe('trouble', () => testTrouble(makeScene));
}

function testDecisions(makeScene: MakeScene): void {
  it('moves the delivery on, and the backlog with it', async (t) => {
    const scene = await makeScene(t);
    const destination = await scene.createDestination();
    const { id } = await scene.acceptOne(destination);
    const state = async () => {
      const { status, deadReason, nextAttemptAt, completedAt, updatedAt, attemptCount, retryCount } =
        (await scene.read(id))!;
      return { status, deadReason, nextAttemptAt, completedAt, updatedAt, attemptCount, retryCount };
    };
    scene.pass(1);
    assert.deepEqual(await scene.record(result(id, 0, retryAt(START + HOUR))), {
      outcomes: [{ result: 'recorded' }],
      paused: [],
    });
    const retrying = { status: 'retrying', deadReason: null, nextAttemptAt: START + HOUR, completedAt: null };
    assert.deepEqual(await state(), { ...retrying, updatedAt: START + 1, attemptCount: 1, retryCount: 0 });
    assert.equal(await scene.unfinishedCount(), 1);
    scene.pass(1);
    await scene.record(result(id, 1, die('exhausted', START + 2)));
    const dead = { status: 'dead', deadReason: 'exhausted', nextAttemptAt: null, completedAt: START + 2 };
    assert.deepEqual(await state(), { ...dead, updatedAt: START + 2, attemptCount: 2, retryCount: 1 });
    assert.equal(await scene.unfinishedCount(), 0);
  });

  it('treats every result of a batch for itself, and two of one delivery in order', async (t) => {
    const scene = await makeScene(t);
    const destination = await scene.createDestination();
    const [one, two] = [await scene.acceptOne(destination), await scene.acceptOne(destination)];
    const { outcomes } = await scene.record(
      result(one.id, 0, succeed()),
      result(one.id, 0, die()),
      result(two.id, 5, succeed()),
      result(scene.ids.next('dlv'), 0, succeed()),
      result(two.id, 0, retryAt(START + HOUR)),
    );
    const found = outcomes.map((outcome) => (outcome.result === 'recorded' ? 'recorded' : outcome.current));
    assert.deepEqual([found[0], found[1], found[3], found[4]], ['recorded', 'finished', 'pruned', 'recorded']);
    assert.equal((await scene.read(one.id))!.status, 'succeeded');
    assert.equal((await scene.read(two.id))!.status, 'retrying');
  });

  it('leaves the delivery where transitions.ts says, forced or not, whatever the result', async (t) => {
    const scene = await makeScene(t);
    const destination = await scene.createDestination();
    const schedule = { delaysMs: [HOUR, DAY], timeoutMs: 1_000, jitter: 0.2 };
    for (const position of [0, 1, 2]) {
      for (const isForced of [false, true]) {
        for (const [outcome, responseCode] of [
          ['succeeded', 200],
          ['bad_status', 500],
          ['bad_status', 410],
        ] as const) {
          const { id } = await scene.acceptOne(destination);
          if (position > 0) await scene.record(result(id, 0, retryAt(START, position)));
          if (isForced) await scene.store.retryDelivery(scene.sendAgain(id));
          const before = await scene.open(destination, id);
          const came = { outcome, responseCode, startedAt: scene.now, durationMs: 5, retryAfterAt: null };
          const decided = afterResult(before, { result: came, trigger: triggerOf(before), schedule, fraction: 0.5 });
          const { pauseDestination: _pause, ...state } = decided;
          await scene.record(result(id, before.rev, { ...state, pauseDestination: null }));
          const { status, deadReason, completedAt } = (await scene.read(id))!;
          assert.deepEqual([status, deadReason, completedAt], [state.status, state.deadReason, state.completedAt]);
          if (status !== 'retrying') continue;
          const after = await scene.open(destination, id);
          assert.deepEqual({ ...after, ...state, rev: before.rev + 1 }, after);
        }
      }
    }
  });

  it('shows when the next attempt may be: not while paused, not before a Retry-After ends', async (t) => {
    const scene = await makeScene(t);
    const destinationId = await scene.createDestination();
    const { id } = await scene.acceptOne(destinationId);
    const next = async () => (await scene.read(id))!.nextAttemptAt;
    const health = { destinationId, failingSince: null, failureCount: 0, heldUntil: START + HOUR };
    await scene.store.recordResults({ results: [], health: [health], now: START });
    assert.equal(await next(), START + HOUR);
    await scene.store.updateDestination({
      environment: LIVE,
      id: destinationId,
      change: { status: 'paused' },
      now: START,
    });
    assert.equal(await next(), null);
    scene.pass(5);
    await scene.store.retryDelivery(scene.sendAgain(id));
    assert.equal(await next(), START + 5, 'a forced attempt waits for neither');
  });
}

function testConflicts(makeScene: MakeScene): void {
  it('stores nothing, and returns the delivery as it is now', async (t) => {
    const scene = await makeScene(t);
    const destination = await scene.createDestination();
    const { id } = await scene.acceptOne(destination);
    const { open } = (await scene.store.retryDelivery(scene.sendAgain(id))) as { open: unknown };
    const { outcomes } = await scene.record(result(id, 0, succeed()));
    assert.deepEqual(outcomes, [{ result: 'conflict', current: open }]);
    const delivery = (await scene.read(id))!;
    assert.deepEqual([delivery.status, delivery.attemptCount, delivery.attempts], ['retrying', 0, []]);
  });

  it('finds a delivery of a deleted destination finished, whether its row has been ended or not', async (t) => {
    const scene = await makeScene(t);
    const destination = await scene.createDestination();
    const { id } = await scene.acceptOne(destination);
    await scene.store.deleteDestination({ environment: LIVE, id: destination, now: START });
    const finished = { outcomes: [{ result: 'conflict', current: 'finished' }], paused: [] };
    assert.deepEqual(await scene.record(result(id, 0, succeed())), finished);
    await scene.store.endDeletedDeliveries({ now: START, budgetMs: 1_000 });
    assert.deepEqual(await scene.record(result(id, 0, succeed())), finished);
    assert.equal((await scene.read(id))!.attemptCount, 0);
  });

  it('lets the history grow when nothing is left to decide', async (t) => {
    const scene = await makeScene(t);
    const destination = await scene.createDestination();
    const { id } = await scene.acceptOne(destination);
    await scene.store.deleteDestination({ environment: LIVE, id: destination, now: START });
    scene.pass(HOUR);
    const cancelled = attempt({ outcome: 'cancelled', responseCode: null, responseHeaders: null, responseBody: null });
    const { outcomes } = await scene.record({ id, rev: 77, attempt: cancelled, decision: null });
    assert.deepEqual(outcomes, [{ result: 'recorded' }]);
    const delivery = (await scene.read(id))!;
    assert.deepEqual([delivery.status, delivery.deadReason], ['dead', 'destination_deleted']);
    assert.deepEqual([delivery.attemptCount, delivery.responseCodes], [1, [null]]);
    assert.deepEqual(delivery.attempts, [{ ...cancelled, attempt: 1 }]);
    await scene.store.endDeletedDeliveries({ now: scene.pass(HOUR), budgetMs: 1_000 });
    assert.deepEqual(await scene.read(id), delivery);
  });
}

function testHistory(makeScene: MakeScene): void {
  it('keeps attempts as they were, any bytes included', async (t) => {
    const scene = await makeScene(t);
    const { id } = await scene.acceptOne(await scene.createDestination());
    const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    const pooled = new Uint8Array(1_000);
    pooled.set(bytes, 500);
    const headers: [string, string][] = [
      ['x', 'latin\u00ff \u0000'],
      ['x', ''],
      ['set-cookie', 'a=1'],
    ];
    const first = attempt({
      outcome: 'bad_status',
      responseCode: 599,
      responseHeaders: JSON.stringify(headers),
      responseBody: pooled.subarray(500, 756),
      responseBodyTruncated: true,
      error: 'it said 599 ✗',
    });
    const second = attempt({ trigger: 'manual', responseBody: new Uint8Array(0), responseHeaders: '[]' });
    const third = attempt({ outcome: 'timed_out', responseCode: null, responseHeaders: null, responseBody: null });
    for (const [rev, one] of [first, second, third].entries()) {
      await scene.record({ id, rev, attempt: one, decision: retryAt(START) });
    }
    const delivery = (await scene.read(id))!;
    assert.deepEqual(delivery.responseCodes, [599, 200, null]);
    assert.deepEqual(delivery.attempts, [
      { ...first, responseBody: bytes, attempt: 1 },
      { ...second, attempt: 2 },
      { ...third, attempt: 3 },
    ]);
  });

  it('keeps the last 50 codes, every attempt, and the bodies of the last 20', async (t) => {
    const scene = await makeScene(t);
    const { id } = await scene.acceptOne(await scene.createDestination());
    for (let rev = 0; rev < 55; rev++) {
      await scene.record({ id, rev, attempt: attempt({ responseCode: 500 + (rev % 20) }), decision: retryAt(START) });
    }
    const delivery = (await scene.read(id))!;
    assert.equal(delivery.attemptCount, 55);
    assert.deepEqual(
      delivery.responseCodes,
      Array.from({ length: 50 }, (_, i) => 500 + ((i + 5) % 20)),
    );
    assert.equal(delivery.attempts.length, ATTEMPTS_PAGE);
    const attempts = [...delivery.attempts, ...(await scene.store.readAttempts({ id, after: ATTEMPTS_PAGE }))];
    assert.deepEqual(
      attempts.map((one) => one.attempt),
      Array.from({ length: 55 }, (_, i) => i + 1),
    );
    assert.deepEqual(await scene.store.readAttempts({ id, after: 55 }), []);
    const withBody = attempts.filter((one) => one.responseBody !== null).map((one) => one.attempt);
    assert.deepEqual(
      withBody,
      Array.from({ length: 20 }, (_, i) => i + 36),
    );
    assert.ok(attempts.every((one) => one.responseHeaders !== null));
  });
}

function testTrouble(makeScene: MakeScene): void {
  it('is kept per destination until it is over', async (t) => {
    const scene = await makeScene(t);
    const [one, two] = [await scene.createDestination(), await scene.createDestination()];
    const write = (...health: DestinationHealth[]) => scene.store.recordResults({ results: [], health, now: START });
    const failing = { destinationId: one, failingSince: START, failureCount: 1, heldUntil: null };
    const held = { destinationId: two, failingSince: null, failureCount: 0, heldUntil: START + HOUR };
    await write(failing, held);
    await write({ ...failing, failureCount: 2 });
    const sorted = async () =>
      (await scene.store.readHealth()).sort((a, b) => (a.destinationId < b.destinationId ? -1 : 1));
    assert.deepEqual(await sorted(), [{ ...failing, failureCount: 2 }, held]);
    await write({ ...failing, failingSince: null, failureCount: 0 }, { ...held, heldUntil: null });
    assert.deepEqual(await sorted(), []);
  });

  it('pauses an active destination once, with the result, and raises the version', async (t) => {
    const scene = await makeScene(t);
    const [gone, manual] = [await scene.createDestination(), await scene.createDestination()];
    const ids = [await scene.acceptOne(gone), await scene.acceptOne(gone), await scene.acceptOne(manual)];
    const pausing = { environment: LIVE, id: manual, change: { status: 'paused' as const }, now: START };
    await scene.store.updateDestination(pausing);
    const version = await scene.configVersion();
    const decision = { ...die('gone'), pauseDestination: 'gone' as const };
    const late = { ...result(scene.ids.next('dlv'), 0, decision) };
    const { paused } = await scene.record(...ids.map(({ id }) => result(id, 0, decision)), late);
    assert.deepEqual(paused, [gone]);
    assert.equal(await scene.configVersion(), version + 1);
    const read = async (id: typeof gone) => (await scene.store.readDestination({ environment: LIVE, id }))!;
    assert.deepEqual([(await read(gone)).status, (await read(gone)).pausedReason], ['paused', 'gone']);
    assert.equal((await read(manual)).pausedReason, 'manual');
    const changes = await scene.store.readChanges({ environment: LIVE, after: version, limit: 10 });
    assert.deepEqual(
      changes.destinations.map((one) => one.id),
      [gone],
    );
    assert.deepEqual((await scene.record()).paused, [], 'an earlier pause is not reported again');
  });

  it('does not pause by a result that came too late', async (t) => {
    const scene = await makeScene(t);
    const destination = await scene.createDestination();
    const { id } = await scene.acceptOne(destination);
    await scene.store.retryDelivery(scene.sendAgain(id));
    const { paused } = await scene.record(result(id, 0, { ...die('gone'), pauseDestination: 'gone' }));
    assert.deepEqual(paused, []);
    const stored = await scene.store.readDestination({ environment: LIVE, id: destination });
    assert.equal(stored!.status, 'active');
  });
}
