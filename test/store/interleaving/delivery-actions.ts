// Who moves a delivery: results of attempts, operators who have it sent again, maintenance, a new owner of its shard.
import assert from 'node:assert/strict';
import type { Delivery, OpenDelivery } from '../../../src/model/delivery.ts';
import type { RecordOutcome, SendAgainResult } from '../../../src/store/store.ts';
import { LIVE, result, succeed } from '../scene.ts';
import type { DatabaseState, DeliveryRow } from './database-state.ts';
import { EXPIRED } from './legal-state.ts';
import type { Subject } from './subject.ts';
import {
  action,
  deliveryOf,
  destinationOf,
  isDestinationDeleted,
  isErased,
  isPruned,
  uuid,
  type Action,
  type View,
} from './view.ts';

/** What it changed of the delivery; null: nothing. */
function moveOf({ commits, subject }: View): { from: DeliveryRow | undefined; to: DeliveryRow | undefined } | null {
  for (const { before, after } of commits) {
    const [from, to] = [deliveryOf(before, subject), deliveryOf(after, subject)];
    if (from?.rev !== to?.rev || from?.attempt_count !== to?.attempt_count) return { from, to };
  }
  return null;
}

type Decide = (subject: Subject) => Parameters<typeof result>[2];

export const record = (decide: Decide): Action =>
  action<RecordOutcome>(
    async ({ store, subject }) => {
      const { id, rev, now, destination } = subject;
      const decision = decide(subject);
      const isFailure = decision?.status === 'retrying';
      const trouble = { destinationId: destination, failingSince: now, failureCount: 1, heldUntil: null };
      const health = isFailure ? [trouble] : [];
      return (await store.recordResults({ results: [result(id, rev, decision)], health, now })).outcomes[0]!;
    },
    (answer, view) => judgeRecord(answer, view, decide(view.subject)),
  );

function judgeRecord(answer: RecordOutcome, view: View, decision: ReturnType<Decide>): void {
  const { subject, during } = view;
  const move = moveOf(view);
  if (answer.result === 'recorded') {
    assert.ok(move?.from !== undefined && move.to !== undefined, 'what was recorded is there');
    assert.equal(move.to.attempt_count, move.from.attempt_count + 1);
    // What has arrived counts although the delivery has expired meanwhile, which nobody could see.
    const isRevived = move.from.dead_reason === EXPIRED && decision?.status === 'succeeded';
    const seen = isRevived ? move.from.rev : subject.rev;
    assert.equal(move.to.rev, decision === null ? move.from.rev : seen + 1, 'decided on what was seen');
    if (decision?.pauseDestination) {
      // Whoever activates it beside this has activated it afterwards.
      const isLeft = destinationOf(view.stateAt('destinations_active'), subject).status === 1;
      const { after } = view.commits.at(-1)!;
      const isPaused = destinationOf(after, subject).status === 1;
      assert.ok(isPaused || isLeft || isDestinationDeleted(after, subject), 'it is paused with it');
    }
    return;
  }
  assert.equal(move, null, 'of a result that lost nothing is stored');
  const { current } = answer;
  assert.ok(decision !== null || current === 'pruned', 'an attempt that decides nothing is told wherever it can be');
  const rows = during.map((state) => ({
    row: deliveryOf(state, subject),
    isGone: isDestinationDeleted(state, subject),
  }));
  if (current === 'pruned') assert.ok(rows.some(({ row }) => row === undefined) || during.some(isPruned));
  else if (current === 'finished') assert.ok(rows.some(({ row, isGone }) => row?.place === 'done' || isGone));
  else {
    assert.notEqual(current.rev, subject.rev, 'it was another revision');
    assert.ok(rows.some(({ row }) => row?.place === 'open' && row.rev === current.rev));
  }
}

export const sendAgain = (method: 'retryDelivery' | 'replayDead'): Action =>
  action<SendAgainResult>(
    ({ store, subject: { id, now } }) => store[method]({ environment: LIVE, id, now, bodyCutoff: 0 }),
    (answer, view) => {
      const { subject, during } = view;
      const move = moveOf(view);
      const rows = during.map((state) => deliveryOf(state, subject));
      if (answer.result !== 'scheduled' || answer.open === null) assert.equal(move, null, 'nothing was changed');
      if (answer.result === 'scheduled') judgeScheduled(answer, { move, rows, method });
      else if (answer.result === 'destination_deleted')
        assert.ok(during.some((state) => isDestinationDeleted(state, subject)));
      else if (answer.result === 'too_old') assert.ok(during.some((state) => isErased(state, subject)));
      else if (method === 'retryDelivery') assert.ok(rows.includes(undefined) || during.some(isPruned));
      else assert.ok(rows.some((row) => row?.status !== 3) || during.some(isPruned), 'it was not dead');
    },
  );

type Scheduled = { delivery: Delivery; open: OpenDelivery | null };

function judgeScheduled(
  { delivery, open }: Scheduled,
  { move, rows, method }: { move: ReturnType<typeof moveOf>; rows: (DeliveryRow | undefined)[]; method: string },
): void {
  if (open === null) {
    assert.ok(rows.some((row) => row?.due_at === 0));
    return;
  }
  const [status, dueAt] = method === 'retryDelivery' ? [1, 0] : [0, delivery.nextAttemptAt ?? open.dueAt];
  assert.deepEqual([move?.to?.status, move?.to?.due_at, move?.to?.rev], [status, dueAt, open.rev]);
  assert.equal(move!.to!.attempt_count, open.attemptCount);
  assert.equal(delivery.status, status === 1 ? 'retrying' : 'pending');
}

/** For maintenance to come to its end in one call. */
export const BUDGET = { budgetMs: 60_000 };

export const expire = action<{ more: boolean }>(
  ({ store, subject: { now } }) => store.eraseBodies({ cutoff: now - 1, now, ...BUDGET }),
  ({ more }) => assert.equal(more, false),
);

export const prune = action<{ more: boolean }>(
  ({ store, subject: { now } }) => store.pruneRows({ cutoff: now - 1, now, ...BUDGET }),
  ({ more }) => assert.equal(more, false),
);

export const endDeleted = action<{ more: boolean }>(
  ({ store, subject: { now } }) => store.endDeletedDeliveries({ now, ...BUDGET }),
  ({ more }) => assert.equal(more, false),
);

/** The shard's owner has died; the next one finds the delivery, sends it, and records what came of that. */
export const takeOver = action<{ isTaken: boolean; outcome: RecordOutcome | null; rev: number | null }>(
  async ({ store, subject, writer }) => {
    const { nodes, shard, destination, now, id } = subject;
    const cluster = store.cluster!;
    await cluster.removeNode(nodes[0]);
    const taken = await cluster.takeShards({ node: nodes[writer === 0 ? 1 : 2], shards: [shard] });
    if (taken.length === 0) return { isTaken: false, outcome: null, rev: null };
    const { destinations } = await store.sweep({ after: null, limit: 10, shards: taken });
    if (destinations.length === 0) return { isTaken: true, outcome: null, rev: null };
    const request = { destinationId: destination, dueFrom: 0, dueBy: Number.MAX_SAFE_INTEGER, limit: 10, exclude: [] };
    const [refill] = await store.refill([request]);
    const open = refill!.deliveries.find((delivery) => delivery.id === id);
    if (open === undefined) return { isTaken: true, outcome: null, rev: null };
    const sent = result(id, open.rev, succeed(now));
    const { outcomes } = await store.recordResults({ results: [sent], health: [], now });
    return { isTaken: true, outcome: outcomes[0]!, rev: open.rev };
  },
  ({ isTaken, outcome, rev }, view) => {
    const { subject, during } = view;
    const owners = during.map(({ shards }) => shards.find(({ shard }) => shard === subject.shard)!.node);
    if (!isTaken) assert.ok(owners.some((node) => node !== null && node !== uuid(subject.nodes[0])));
    else if (outcome === null) {
      const isWithoutWork = (state: DatabaseState): boolean =>
        deliveryOf(state, subject)?.place !== 'open' || isDestinationDeleted(state, subject);
      assert.ok(during.some(isWithoutWork), 'what is unfinished is found');
    } else judgeRecord(outcome, { ...view, subject: { ...subject, rev: rev! } }, succeed());
  },
);
