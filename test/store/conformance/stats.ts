// What is counted, and how destinations are doing: overwritten by key, read in order, and removed when it is old.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DestinationActivity } from '../../../src/model/condition.ts';
import type { DestinationId } from '../../../src/model/id.ts';
import type { CountsSubject, StoredCounts } from '../../../src/store/store.ts';
import { DAY, HOUR, LIVE, MINUTE, START, TEST, die, result, retryAt, succeed, type Scene } from '../scene.ts';
import type { MakeScene } from './suite.ts';

const ALL: CountsSubject = { span: 'minute', environment: LIVE, kind: 'environment', subject: '' };
const EVERYTHING = { since: null, until: null, after: null, limit: 1_000 };

const row = (at: number, writer: number, counts: number[], subject: Partial<CountsSubject> = {}): StoredCounts => {
  return { ...ALL, ...subject, at, writer, counts: Uint8Array.from(counts) };
};

const read = async (scene: Scene, request: Partial<Parameters<Scene['store']['readCounts']>[0]> = {}) =>
  (await scene.store.readCounts({ ...ALL, ...EVERYTHING, ...request })).map(({ at, writer, counts }) => {
    return [at, writer, [...counts]];
  });

export function testStats(makeScene: MakeScene): void {
  describe('counts', () => testCounts(makeScene));
  describe('conditions of destinations', () => testConditions(makeScene));
  it('tells which deliveries it ended without an attempt, by destination', async (t) => {
    const scene = await makeScene(t);
    const [kept, deleted] = [await scene.createDestination(), await scene.createDestination()];
    const { deliveries } = await scene.accept([kept, kept, kept, deleted, deleted]);
    await scene.record(result(deliveries[0]!.id, 0, succeed()));
    await scene.store.deleteDestination({ environment: LIVE, id: deleted, now: scene.now });
    const ended = await scene.store.endDeletedDeliveries({ now: scene.now, budgetMs: 1_000 });
    assert.deepEqual(ended.ended, [
      { environment: LIVE, destinationId: deleted, deadReason: 'destination_deleted', count: 2 },
    ]);
    const expired = await scene.store.eraseBodies({ cutoff: START + 1, now: scene.now, budgetMs: 1_000 });
    assert.deepEqual(expired.ended, [{ environment: LIVE, destinationId: kept, deadReason: 'expired', count: 2 }]);
  });
}

function testCounts(makeScene: MakeScene): void {
  it('are overwritten by their writer alone, and read in order', async (t) => {
    const scene = await makeScene(t);
    await scene.store.writeCounts([row(START, 2, [1]), row(START, 1, [2]), row(START + MINUTE, 2, [3])]);
    await scene.store.writeCounts([row(START, 2, [4, 5])]);
    await scene.store.writeCounts([]);
    assert.deepEqual(await read(scene), [
      [START, 1, [2]],
      [START, 2, [4, 5]],
      [START + MINUTE, 2, [3]],
    ]);
  });

  it('are of one subject', async (t) => {
    const scene = await makeScene(t);
    const id = await scene.createDestination();
    const subjects: Partial<CountsSubject>[] = [
      {},
      { span: 'hour' },
      { environment: TEST },
      { kind: 'pulse' },
      { kind: 'destination', subject: id },
      { kind: 'event_type', subject: 'order.paid' },
      { kind: 'event_type', subject: 'other' },
    ];
    await scene.store.writeCounts(subjects.map((subject, i) => row(START, 1, [i], subject)));
    for (const [i, subject] of subjects.entries()) assert.deepEqual(await read(scene, subject), [[START, 1, [i]]]);
  });

  it('are read within a range, a page at a time', async (t) => {
    const scene = await makeScene(t);
    const rows = Array.from({ length: 10 }, (_, i) => row(START + i * MINUTE, 7, [i]));
    await scene.store.writeCounts([...rows, row(START + 4 * MINUTE, 9, [99])]);
    const range = { since: START + 2 * MINUTE, until: START + 6 * MINUTE };
    const all = await read(scene, range);
    assert.deepEqual(
      all.map(([, , counts]) => counts),
      [[2], [3], [4], [99], [5]],
    );
    const paged: unknown[] = [];
    for (let after: { at: number; writer: number } | null = null; ;) {
      const page = await scene.store.readCounts({ ...ALL, ...range, after, limit: 2 });
      paged.push(...page.map(({ at, writer, counts }) => [at, writer, [...counts]]));
      if (page.length < 2) break;
      after = page.at(-1)!;
    }
    assert.deepEqual(paged, all);
  });

  it('go when they are old: minutes before hours', async (t) => {
    const scene = await makeScene(t);
    const times = Array.from({ length: 150 }, (_, i) => START + i * MINUTE);
    await scene.store.writeCounts(times.flatMap((at) => [row(at, 1, [1]), row(at, 1, [1], { span: 'hour' })]));
    const prune = (budgetMs: number) => scene.store.pruneCounts({ minutes: times[120]!, hours: times[60]!, budgetMs });
    let changed = 0;
    for (;;) {
      const step = await prune(0);
      changed += step.changed;
      if (!step.more) break;
    }
    assert.equal(changed, 180);
    assert.equal((await read(scene)).length, 30);
    assert.equal((await read(scene, { span: 'hour' })).length, 90);
    assert.deepEqual(await prune(1_000), { changed: 0, more: false });
  });
}

function testConditions(makeScene: MakeScene): void {
  const failure = { at: START + 5, outcome: 'connect_failed', responseCode: null, error: 'by \u0000 “host”' } as const;
  const report = (destinationId: DestinationId, parts: Partial<DestinationActivity> = {}): DestinationActivity => ({
    destinationId,
    environment: LIVE,
    reportedAt: START + 10,
    lastAttemptAt: START + 5,
    lastSuccessAt: null,
    lastFailure: failure,
    inFlight: 2,
    inFlightLimit: 25,
    ...parts,
  });

  it('have what was reported last, and keep what a later report does not know', async (t) => {
    const scene = await makeScene(t);
    const id = await scene.createDestination();
    await scene.store.writeActivity([report(id)]);
    const [first] = await scene.store.readConditions([id]);
    assert.deepEqual(first!.activity, report(id));
    const success = { reportedAt: START + 20, lastAttemptAt: START + 15, lastSuccessAt: START + 15, lastFailure: null };
    await scene.store.writeActivity([report(id, { ...success, inFlight: 0 })]);
    const [second] = await scene.store.readConditions([id]);
    assert.deepEqual(second!.activity, report(id, { ...success, lastFailure: failure, inFlight: 0 }));
    // Of a node that was slow to tell.
    await scene.store.writeActivity([
      report(id, { reportedAt: START + 1, lastAttemptAt: START + 1, lastFailure: null }),
    ]);
    const [third] = await scene.store.readConditions([id]);
    assert.deepEqual([third!.activity!.lastAttemptAt, third!.activity!.lastSuccessAt], [START + 15, START + 15]);
    assert.deepEqual(third!.activity!.lastFailure, failure);
    await scene.store.pruneCounts({ minutes: 0, hours: START + DAY, budgetMs: 1_000 });
    assert.equal((await scene.store.readConditions([id]))[0]!.activity, null);
  });

  it('have stored trouble, what waits, and what is due first, in the order of the ids', async (t) => {
    const scene = await makeScene(t);
    const [quiet, busy] = [await scene.createDestination(), await scene.createDestination()];
    const { deliveries } = await scene.accept([busy, busy, busy, busy]);
    const [first, second, third] = deliveries.map(({ id }) => id);
    await scene.store.recordResults({
      results: [
        result(first!, 0, retryAt(START + HOUR)),
        result(second!, 0, die()),
        result(third!, 0, retryAt(START + 2 * HOUR)),
      ],
      health: [{ destinationId: busy, failingSince: START + 1, failureCount: 3, heldUntil: START + MINUTE }],
      now: scene.now,
    });
    const none = { activity: null, failingSince: null, failureCount: 0, heldUntil: null, unfinished: 0, dueAt: null };
    const trouble = { failingSince: START + 1, failureCount: 3, heldUntil: START + MINUTE };
    const unknown = scene.ids.next('dst');
    assert.deepEqual(await scene.store.readConditions([quiet, busy, unknown]), [
      none,
      { ...none, ...trouble, unfinished: 3, dueAt: START },
      none,
    ]);
    assert.deepEqual(await scene.store.countUnfinished([quiet, busy, unknown]), [0, 3, 0]);
    const count = (status: 'pending' | 'retrying', max = 100, environment = LIVE) =>
      scene.store.countOpen({ environment, status, max });
    assert.deepEqual(await count('pending'), { count: 1, isAll: true });
    assert.deepEqual(await count('retrying'), { count: 2, isAll: true });
    assert.deepEqual(await count('retrying', 2), { count: 2, isAll: false });
    assert.deepEqual(await count('pending', 100, TEST), { count: 0, isAll: true });
    await scene.store.deleteDestination({ environment: LIVE, id: busy, now: scene.now });
    for (const status of ['pending', 'retrying'] as const) {
      assert.deepEqual(await count(status), { count: 0, isAll: true }, 'it reads as ended');
    }
    assert.deepEqual(await count('retrying', 2), { count: 0, isAll: false }, 'the others were not looked at');
  });

  it('do not take a forced attempt for what is due first', async (t) => {
    const scene = await makeScene(t);
    const id = await scene.createDestination();
    const delivery = await scene.acceptOne(id);
    await scene.record(result(delivery.id, 0, retryAt(START + HOUR)));
    await scene.store.retryDelivery(scene.sendAgain(delivery.id));
    const [condition] = await scene.store.readConditions([id]);
    assert.deepEqual([condition!.unfinished, condition!.dueAt], [1, null]);
  });
}
