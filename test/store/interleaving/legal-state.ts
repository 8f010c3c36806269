// What holds of every state that a commit leaves, and of every step of a delivery from one to the next: the state
// machine of docs/concepts.md, the history that goes with it, and the sums that must agree with what they count.
import assert from 'node:assert/strict';
import type { DatabaseState, DeliveryRow } from './database-state.ts';

const [PENDING, RETRYING, SUCCEEDED, DEAD] = [0, 1, 2, 3];
export const EXPIRED = 3;
const DESTINATION_DELETED = 2;

export function assertLegalState(state: DatabaseState): void {
  assertHistories(state);
  assertEvents(state);
  assertConfiguration(state);
}

function assertHistories({ deliveries, attempts }: DatabaseState): void {
  const numbersOf = new Map(attempts.map((one) => [one.delivery_id, one.numbers]));
  assertDistinct(
    deliveries.map(({ id }) => id),
    'a delivery is in one table, and only there',
  );
  for (const { id, attempt_count: count, code_count: codes } of deliveries) {
    const numbers = Array.from({ length: count }, (_, i) => i + 1);
    assert.deepEqual(numbersOf.get(id) ?? [], numbers, 'attempts are numbered without gaps or doubles');
    assert.equal(codes, count, 'each attempt has a code');
    numbersOf.delete(id);
  }
  assert.deepEqual([...numbersOf.keys()], [], 'no attempt is left without its delivery');
}

function assertEvents({ events, bodies, deliveries, keys, horizons }: DatabaseState): void {
  const known = new Set(events.map(({ id }) => id));
  assertDistinct(
    events.map(({ id }) => id),
    'an event is kept once',
  );
  assertDistinct(
    keys.map(({ key }) => key),
    'a key has one holder',
  );
  if (horizons.rows > 0) return;
  for (const { event_id: id } of [...deliveries, ...keys]) assert.ok(known.has(id), 'what refers to an event has it');
  if (horizons.bodies > 0) return;
  assert.deepEqual(bodies.toSorted(), [...known].sort(), 'each event has its body');
}

function assertConfiguration(state: DatabaseState): void {
  const { destinations, subscriptions, signingKeys, environment, barriers } = state;
  const live = new Set(destinations.filter((one) => one.deleted_at === null).map(({ id }) => id));
  const liveSubscriptions = subscriptions.filter((one) => one.deleted_at === null);
  assert.equal(environment.destination_count, live.size, 'destinations are counted');
  assert.equal(environment.subscription_count, liveSubscriptions.length, 'subscriptions are counted');
  for (const one of liveSubscriptions) assert.ok(live.has(one.destination_id), 'who subscribes is there');
  for (const one of signingKeys) assert.ok(live.has(one.destination_id), 'secrets go with their destination');
  for (const { id, version, has_headers: hasHeaders, status, paused_reason: reason } of destinations) {
    assert.ok(version <= environment.config_version, 'a change has a version of its environment');
    assert.equal(status === 1, reason !== null);
    if (!live.has(id)) assert.equal(hasHeaders, false, 'header values go with their destination');
    else {
      const own = signingKeys.filter((key) => key.destination_id === id);
      assert.deepEqual(
        own.map((key) => key.expires_at === null),
        own.map((_, i) => i === 0),
        'the newest key, and only that, has no end',
      );
      assert.ok(own.length > 0, 'a destination has a key');
    }
  }
  for (const { version } of barriers) assert.ok(version <= environment.config_version);
}

/** `wasGoneBefore`: the statement that moved deliveries saw the destination deleted. */
export type Transition = { before: DatabaseState; after: DatabaseState; wasGoneBefore: boolean };

export function assertLegalTransition({ before, after, wasGoneBefore }: Transition): void {
  const was = new Map(before.deliveries.map((row) => [row.id, row]));
  for (const row of after.deliveries) {
    const from = was.get(row.id);
    was.delete(row.id);
    if (from === undefined) assertBorn(row);
    else assertMove(from, row, { wasGoneBefore, deletedAt: deletionOf(after, row.destination_id) });
  }
  if (was.size > 0) assert.ok(after.horizons.rows > 0, 'only what has reached its age goes away');
  assert.ok(after.environment.config_version >= before.environment.config_version, 'versions only grow');
  for (const { shard, epoch, node } of before.shards) {
    const now = after.shards.find((one) => one.shard === shard)!;
    const isTaken = now.node !== null && now.node !== node;
    assert.equal(now.epoch, epoch + (isTaken ? 1 : 0), 'each owner has an epoch of its own');
    assert.ok(node === null || now.node === null || now.node === node, 'what is owned is freed before it is taken');
  }
  for (const { id, deleted_at: at } of before.destinations) {
    if (at !== null) assert.equal(deletionOf(after, id), at, 'a deletion is for good');
  }
}

function deletionOf({ destinations }: DatabaseState, id: string): number | null {
  return destinations.find((one) => one.id === id)?.deleted_at ?? null;
}

function assertBorn(row: DeliveryRow): void {
  assert.deepEqual(
    [row.place, row.status, row.rev, row.attempt_count, row.schedule_position],
    ['open', PENDING, 0, 0, 0],
    'a delivery begins pending',
  );
}

function assertMove(
  from: DeliveryRow,
  to: DeliveryRow,
  { wasGoneBefore, deletedAt }: { wasGoneBefore: boolean; deletedAt: number | null },
): void {
  const grown = to.attempt_count - from.attempt_count;
  assert.ok(grown === 0 || grown === 1, 'one result is one attempt');
  if (to.rev === from.rev) {
    assert.deepEqual({ ...to, attempt_count: 0, code_count: 0 }, { ...from, attempt_count: 0, code_count: 0 });
    return;
  }
  assert.equal(to.rev, from.rev + 1, 'each change is one revision');
  if (wasGoneBefore && from.place === 'open') {
    const ending = [to.place, to.status, to.dead_reason, to.completed_at, grown];
    const dead = ['done', DEAD, DESTINATION_DELETED, deletedAt, 0];
    const arrived = ['done', SUCCEEDED, null, from.completed_at, 0];
    const asItWas = from.fallback_status === SUCCEEDED ? arrived : dead;
    assert.deepEqual(ending, asItWas, 'what a deletion ended stays so');
    return;
  }
  assert.ok(
    MOVES.some((isMove) => isMove(from, to, grown)),
    `${show(from)} to ${show(to)}`,
  );
}

type IsMove = (from: DeliveryRow, to: DeliveryRow, grown: number) => boolean;

const isOpen = (row: DeliveryRow): boolean => row.place === 'open';
const isForced = (row: DeliveryRow): boolean => isOpen(row) && row.due_at === 0 && row.status === RETRYING;

const MOVES: readonly IsMove[] = [
  // An attempt's result.
  (from, to, grown) => isOpen(from) && to.status === SUCCEEDED && grown === 1,
  // The same of an attempt that was on the wire when its event expired.
  (from, to, grown) =>
    from.status === DEAD && from.dead_reason === EXPIRED && to.status === SUCCEEDED && !isOpen(to) && grown === 1,
  (from, to, grown) => isOpen(from) && to.status === RETRYING && !isForced(to) && grown === 1,
  (from, to, grown) => isOpen(from) && to.status === DEAD && grown === 1,
  // Ended without one: its event expired, or its destination is gone.
  (from, to, grown) =>
    isOpen(from) && to.status === DEAD && [EXPIRED, DESTINATION_DELETED].includes(to.dead_reason!) && grown === 0,
  // The same of one that had succeeded before.
  (from, to, grown) => isForced(from) && from.fallback_status === SUCCEEDED && to.status === SUCCEEDED && grown === 0,
  // A manual retry keeps what was.
  (from, to, grown) =>
    !isForced(from) &&
    isForced(to) &&
    to.fallback_status === from.status &&
    to.scheduled_at === from.due_at &&
    to.schedule_position === from.schedule_position &&
    grown === 0,
  // A replay of a dead one begins afresh.
  (from, to, grown) =>
    !isOpen(from) &&
    from.status === DEAD &&
    to.status === PENDING &&
    to.due_at! > 0 &&
    to.schedule_position === 0 &&
    grown === 0,
];

function show({ place, status, dead_reason: reason, due_at: dueAt, attempt_count: count }: DeliveryRow): string {
  return `${place} status ${status} reason ${reason} due ${dueAt} attempts ${count}`;
}

function assertDistinct(all: readonly string[], message: string): void {
  assert.equal(new Set(all).size, all.length, message);
}
