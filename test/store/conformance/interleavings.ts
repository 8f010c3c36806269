// Writers that do not wait for each other, in any order: what a delivery reads as is always a legal state, and nothing
// that was finished by one is moved by another that had not seen it.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { DeliveryWithAttempts, OpenDelivery } from '../../../src/model/delivery.ts';
import type { DeliveryId, DestinationId } from '../../../src/model/id.ts';
import { mayRevive, type Decision } from '../../../src/model/transitions.ts';
import { DAY, HOUR, LIVE, START, attempt, die, fallBack, retryAt, succeed, type Scene } from '../scene.ts';
import type { MakeScene } from './suite.ts';

const ACTIONS = ['hold', 'succeed', 'fail', 'die', 'retry', 'replay', 'grow', 'delete', 'erase', 'end'] as const;
type Action = (typeof ACTIONS)[number];

/** What chance seldom draws: an attempt is on the wire when its event expires, and arrives. */
const EXPIRED_ON_THE_WIRE = (['hold', 'erase', 'succeed'] as const).map((action) => ({ action, nth: 0 }));

type World = {
  scene: Scene;
  destinations: DestinationId[];
  deliveries: { id: DeliveryId; destinationId: DestinationId }[];
  /** What a dispatcher holds of each: perhaps long outdated. */
  held: Map<DeliveryId, OpenDelivery>;
};

export function testInterleavings(makeScene: MakeScene, propertyRuns: number): void {
  describe('interleavings', () => {
    it('of results, manual retries, replays, deletion and expiry end in legal states', async (t) => {
      const steps = fc.array(fc.record({ action: fc.constantFrom(...ACTIONS), nth: fc.nat(3) }), { maxLength: 40 });
      await fc.assert(
        fc.asyncProperty(steps, async (plan) => {
          const world = await makeWorld(await makeScene(t));
          for (const { action, nth } of plan) {
            const before = await readAll(world);
            world.scene.pass(HOUR);
            await act(world, action, nth);
            const after = await readAll(world);
            for (const [i, delivery] of after.entries()) {
              assertLegal(delivery);
              assertFollows(before[i]!, delivery, action);
            }
            await assertCounts(world, after);
          }
          await world.scene.store.close();
        }),
        { numRuns: propertyRuns, examples: [[EXPIRED_ON_THE_WIRE]] },
      );
    });
  });
}

async function makeWorld(scene: Scene): Promise<World> {
  const destinations = [await scene.createDestination(), await scene.createDestination()];
  const first = await scene.accept(destinations);
  scene.pass(DAY);
  const second = await scene.accept(destinations);
  const deliveries = [...first.deliveries, ...second.deliveries];
  return { scene, destinations, deliveries, held: new Map() };
}

const readAll = ({ scene, deliveries }: World) =>
  Promise.all(deliveries.map(async ({ id }) => (await scene.read(id))!));

async function act(world: World, action: Action, nth: number): Promise<void> {
  const { scene, held } = world;
  const { store } = scene;
  const { id, destinationId } = world.deliveries[nth]!;
  const open = held.get(id);
  if (action === 'hold') await hold(world, nth);
  if (action === 'retry') await store.retryDelivery(scene.sendAgain(id));
  if (action === 'replay') await store.replayDead(scene.sendAgain(id));
  if (action === 'grow') await scene.record({ id, rev: 0, attempt: attempt(), decision: null });
  if (action === 'delete') await store.deleteDestination({ environment: LIVE, id: destinationId, now: scene.now });
  if (action === 'erase') await store.eraseBodies({ cutoff: START + 1, now: scene.now, budgetMs: 1_000 });
  if (action === 'end') await store.endDeletedDeliveries({ now: scene.now, budgetMs: 1_000 });
  if (open === undefined) return;
  if (action === 'succeed') await recordHeld(world, open, succeed(scene.now));
  if (action === 'die') await recordHeld(world, open, die('exhausted', scene.now));
  if (action === 'fail') await recordHeld(world, open, failureOf(open, scene.now));
}

async function hold({ scene, deliveries, held }: World, nth: number): Promise<void> {
  const { id, destinationId } = deliveries[nth]!;
  const request = { destinationId, dueBy: Number.MAX_SAFE_INTEGER, dueFrom: 0, limit: 10, exclude: [] };
  const [refill] = await scene.store.refill([request]);
  const open = refill!.deliveries.find((delivery) => delivery.id === id);
  if (open !== undefined) held.set(id, open);
}

/** As deciding does it: a forced attempt that fails gives back what was. */
function failureOf(open: OpenDelivery, now: number): Decision {
  const { fallbackStatus, scheduledAt, schedulePosition } = open;
  if (fallbackStatus === null) return retryAt(now + HOUR, schedulePosition + 1);
  return { ...fallBack(fallbackStatus, open), dueAt: scheduledAt, schedulePosition };
}

/** What was held counts only if nobody but expiry wrote since; else the store says what is there now. */
async function recordHeld({ scene, held }: World, open: OpenDelivery, decision: Decision): Promise<void> {
  const before = (await scene.read(open.id))!;
  const { outcomes } = await scene.record({ id: open.id, rev: open.rev, attempt: attempt(), decision });
  const after = (await scene.read(open.id))!;
  const [outcome] = outcomes;
  assert.ok(outcome !== undefined);
  held.delete(open.id);
  if (outcome.result === 'recorded') {
    assert.ok(isOpen(before) || mayRevive(before, decision));
    assert.equal(after.status, decision.status);
    return;
  }
  assert.ok(!mayRevive(before, decision), 'what has arrived reads so');
  assert.deepEqual(after, before, 'a conflict stores nothing');
  assert.equal(outcome.current === 'finished', !isOpen(before));
  if (typeof outcome.current === 'object') held.set(open.id, outcome.current);
}

const isOpen = ({ status }: { status: string }) => status === 'pending' || status === 'retrying';

function assertLegal(delivery: DeliveryWithAttempts): void {
  const { status, deadReason, completedAt, nextAttemptAt, attemptCount, attempts, responseCodes } = delivery;
  assert.equal(deadReason !== null, status === 'dead');
  assert.equal(completedAt !== null, !isOpen(delivery));
  assert.equal(nextAttemptAt !== null, isOpen(delivery), 'no destination is paused here');
  assert.equal(attempts.length, attemptCount);
  assert.equal(responseCodes.length, attemptCount);
}

/** Who may do what to a delivery. */
function assertFollows(before: DeliveryWithAttempts, after: DeliveryWithAttempts, action: Action): void {
  if (action === 'grow' || JSON.stringify(before) === JSON.stringify(after)) return;
  const isResult = action === 'succeed' || action === 'fail' || action === 'die';
  if (!isOpen(before) && isOpen(after)) assert.ok(action === 'retry' || action === 'replay', action);
  if (after.attemptCount > before.attemptCount) assert.ok(isResult, action);
  if (after.deadReason === 'expired' && before.deadReason !== 'expired') assert.ok(action === 'erase', action);
  if (before.status === 'dead' && after.status === 'succeeded') assert.equal(before.deadReason, 'expired');
  if (before.deadReason === 'destination_deleted') assert.equal(after.deadReason, 'destination_deleted');
  assert.notEqual(action, 'end', 'ending rows changes nothing that can be read');
}

async function assertCounts({ scene }: World, deliveries: DeliveryWithAttempts[]): Promise<void> {
  assert.equal(await scene.unfinishedCount(), deliveries.filter(isOpen).length);
  const swept = await scene.store.sweep({ after: null, limit: 10 });
  const withWork = new Set(deliveries.filter(isOpen).map((delivery) => delivery.destinationId));
  assert.deepEqual(new Set(swept.destinations.map((one) => one.destinationId)), withWork);
}
