// Who brings deliveries into being: an event that is accepted, and an old one that is replayed.
import assert from 'node:assert/strict';
import type { AcceptResult, NewEvent } from '../../../src/store/store.ts';
import { DAY, LIVE } from '../scene.ts';
import type { DatabaseState } from './database-state.ts';
import { describeEvent } from './subject.ts';
import { action, deliveryOf, isErased, isPruned, uuid, type View } from './view.ts';

const FINGERPRINTS = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)] as const;

/** Of both writers under the same key. */
export const accept = action<{ event: NewEvent; answer: AcceptResult }>(
  async ({ store, scene, subject, writer }) => {
    const { now, key, configVersion, destination, subscription } = subject;
    const event: NewEvent = {
      ...describeEvent(scene, key),
      configVersion,
      idempotency: { fingerprint: FINGERPRINTS[writer], expiresAt: now + DAY },
      deliveries: [{ ...scene.delivery(destination), subscriptionId: subscription }],
    };
    return { event, answer: (await store.acceptEvents([event]))[0]! };
  },
  ({ event, answer }, view) => {
    const stored = view.commits.filter(({ before, after }) => !hasEvent(before, event.id) && hasEvent(after, event.id));
    assert.equal(stored.length, answer.result === 'accepted' ? 1 : 0, 'accepted is stored, and nothing else is');
    judgeVersion(view, { isStale: answer.result === 'stale' });
    if (answer.result === 'accepted') {
      const { before, after } = stored[0]!;
      const ended = uuid(view.subject.eventId);
      const wasFree = before.keys.every((one) => one.event_id === ended);
      assert.ok(wasFree, 'of one key one event is accepted');
      assert.ok(after.bodies.includes(uuid(event.id)));
      assert.ok(deliveryOf(after, event.deliveries[0]!) !== undefined);
      assert.deepEqual(after.keys, [{ key: event.idempotencyKey, event_id: uuid(event.id) }]);
    } else if (answer.result === 'duplicate') {
      const held = view.during.some(({ keys }) => keys.some((one) => one.event_id === uuid(answer.eventId)));
      assert.ok(held && answer.eventId !== view.subject.eventId, 'the key is held by an event of this day');
    } else assert.equal(answer.result, 'stale');
  },
);

function hasEvent({ events }: DatabaseState, id: string): boolean {
  return events.some((event) => event.id === uuid(id));
}

/** Against the version that the transaction's read of it found. */
function judgeVersion({ stateAt, subject }: View, { isStale }: { isStale: boolean }): void {
  const found = stateAt('accept_at_once', 'environments_version').environment.config_version;
  assert.equal(isStale, found > subject.configVersion, 'what was matched against an older configuration is stale');
}

type Replayed = { result: string; deliveryId: string };

export const replayEvent = action<Replayed>(
  async ({ store, scene, subject }) => {
    const { eventId, configVersion, now, destination, subscription } = subject;
    const delivery = { ...scene.delivery(destination), subscriptionId: subscription };
    const about = { environment: LIVE, eventId, configVersion, now, bodyCutoff: 0 };
    const { result: came } = await store.replayEvent({ ...about, deliveries: [delivery] });
    return { result: came, deliveryId: delivery.id };
  },
  ({ result: came, deliveryId }, view) => {
    const born = view.commits.filter(({ after }) => after.deliveries.some(({ id }) => id === uuid(deliveryId)));
    assert.equal(born.length, came === 'replayed' ? 1 : 0);
    if (came === 'not_found') assert.ok(view.during.some(isPruned));
    else if (came === 'too_old') assert.ok(view.during.some((state) => isErased(state, view.subject)));
    else judgeVersion(view, { isStale: came === 'stale' });
  },
);
