// A service that may not send, or has nothing to send, does nothing: no spinning while work is paused, held, deleted,
// expired, not ours, or cannot be read or stored.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { BEHAVIOURS } from './receivers.ts';
import { situation, type Stage } from './situation.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Ten minutes in which hardly anything may be done: 20 sweeps, and the background loops. */
async function assertQuiet(stage: Stage): Promise<void> {
  const { refills, starts, payloadReads, records, timers, looks } = await stage.measure(10 * MINUTE_MS);
  assert.deepEqual({ starts, payloadReads, records }, { starts: 0, payloadReads: 0, records: 0 });
  // Each sweep may look once at what it finds.
  assert.ok(refills <= 25, `${refills} refills`);
  assert.ok(timers < 1_400, `${timers} timers`);
  // Four times a second at the configuration, once at the operations, once at the files.
  assert.ok(looks <= 3_601, `${looks} looks`);
}

describe('nothing is done', () => {
  situation('without work', {}, async (stage) => {
    await stage.destination(BEHAVIOURS.ok);
    await stage.clock.run(1_000);
    await assertQuiet(stage);
  });

  situation('when all work is done, and no destination is kept in memory', {}, async (stage) => {
    await stage.destination(BEHAVIOURS.ok, { ratePerSecond: 5 });
    await stage.post(20);
    await stage.clock.run(MINUTE_MS);
    await assertQuiet(stage);
    assert.deepEqual(stage.world.service.dispatcher.stats(), { onWire: 0, waiting: 0, queues: 0 });
  });

  situation('for a backlog that is paused', {}, async (stage) => {
    const id = await stage.destination(BEHAVIOURS.ok, { status: 'paused' });
    const deliveries = await stage.post(1_500);
    await stage.clock.run(1_000);
    await assertQuiet(stage);
    await stage.do(stage.clients.patchDestination(id, { status: 'active' }));
    await stage.clock.run(MINUTE_MS);
    assert.deepEqual(stage.tally(deliveries), { succeeded: 1_500 });
  });

  situation('for a backlog that is paused while it is being sent', {}, async (stage) => {
    const id = await stage.destination(BEHAVIOURS.ok, { ratePerSecond: 100 });
    const deliveries = await stage.post(2_500);
    await stage.clock.run(5_000);
    await stage.do(stage.clients.patchDestination(id, { status: 'paused' }));
    await stage.clock.run(1_000);
    await assertQuiet(stage);
    await stage.do(stage.clients.patchDestination(id, { status: 'active' }));
    await stage.clock.run(MINUTE_MS);
    assert.deepEqual(stage.tally(deliveries), { succeeded: 2_500 });
  });

  situation('for a backlog that is held', {}, async (stage) => {
    const id = await stage.destination(() => ({ afterMs: 5, code: 429, retryAfterMs: DAY_MS / 2 }));
    await stage.post(1_500);
    await stage.clock.run(MINUTE_MS);
    await assertQuiet(stage);
    stage.setBehaviour(id, BEHAVIOURS.ok);
  });

  situation('for a backlog whose destination is deleted', {}, async (stage) => {
    const id = await stage.destination(BEHAVIOURS.slow, { maxInFlight: 3 });
    const deliveries = await stage.post(2_500);
    await stage.clock.run(1_000);
    await stage.do(stage.clients.deleteDestination(id));
    await stage.clock.run(MINUTE_MS);
    await assertQuiet(stage);
    assert.deepEqual(stage.world.service.dispatcher.stats(), { onWire: 0, waiting: 0, queues: 0 });
    const tally = stage.tally(deliveries);
    assert.equal((tally['succeeded'] ?? 0) + tally['dead: destination_deleted']!, 2_500);
  });

  situation('until the next retry', {}, async (stage) => {
    await stage.destination(BEHAVIOURS.fails, { retryPolicy: { schedule_seconds: [3_600] } });
    await stage.post(100);
    await stage.clock.run(5 * MINUTE_MS);
    await assertQuiet(stage);
  });

  situation('when every delivery is dead', {}, async (stage) => {
    await stage.destination(BEHAVIOURS.dislikes, { retryPolicy: { schedule_seconds: [] } });
    const deliveries = await stage.post(300);
    await stage.clock.run(5 * MINUTE_MS);
    assert.deepEqual(stage.tally(deliveries), { 'dead: exhausted': 300 });
    await assertQuiet(stage);
  });
});

describe('it does not spin', () => {
  situation('while its files are not where they belong', {}, async (stage) => {
    await stage.destination(BEHAVIOURS.ok);
    stage.world.service.slowStore.misplaced = 'the database was removed';
    // The files are looked at once a second.
    await stage.clock.run(1_000);
    assert.match(stage.world.service.api.readiness().reasons.join(), /the database was removed/);
    const deliveries = await stage.post(1_500);
    const { starts, refills, payloadReads } = await stage.measure(20_000);
    assert.equal(starts, 0);
    // One look a second.
    assert.ok(refills <= 25 && payloadReads === 0, `${refills} refills, ${payloadReads} reads of bodies`);
    stage.world.service.slowStore.misplaced = null;
    stage.world.disturb();
    await stage.clock.run(2 * MINUTE_MS);
    assert.deepEqual(stage.tally(deliveries), { succeeded: 1_500 });
  });

  situation(
    'over a backlog that has expired and is not yet erased',
    { BODY_RETENTION: 60 * MINUTE_MS },
    async (stage) => {
      const id = await stage.destination(BEHAVIOURS.ok, { status: 'paused' });
      const deliveries = await stage.post(2_500);
      // Erasing fails for a while, so that the rows stay.
      stage.world.service.slowStore.failing.add('eraseBodies');
      await stage.clock.run(61 * MINUTE_MS);
      await stage.do(stage.clients.patchDestination(id, { status: 'active' }));
      const { starts, refills, payloadReads } = await stage.measure(20_000);
      assert.equal(starts, 0);
      assert.ok(refills <= 50, `${refills} refills`);
      assert.ok(payloadReads === 0, `${payloadReads} reads of bodies that must not be sent`);
      stage.world.service.slowStore.failing.clear();
      await stage.clock.run(2 * MINUTE_MS);
      assert.deepEqual(stage.tally(deliveries), { 'dead: expired': 2_500 });
    },
  );

  for (const trouble of ['reads', 'writes', 'all'] as const) {
    situation(`while ${trouble} fail`, {}, async (stage) => {
      await stage.destination(BEHAVIOURS.ok, { ratePerSecond: 50 });
      const deliveries = await stage.post(2_500);
      await stage.clock.run(5_000);
      stage.world.setTrouble(trouble);
      await stage.clock.run(10_000);
      const { refills, payloadReads, records, starts } = await stage.measure(MINUTE_MS);
      // Four tries a second of each, beside the results of what is sent because its body was in memory.
      assert.ok(
        refills <= 250 && payloadReads <= 250 && records <= 250 + starts,
        JSON.stringify({ refills, payloadReads, records, starts }),
      );
      if (trouble !== 'reads') assert.equal(starts, 0);
      stage.world.setTrouble(null);
      await stage.clock.run(2 * MINUTE_MS);
      assert.deepEqual(stage.tally(deliveries), { succeeded: 2_500 });
    });
  }

  situation('while only the bodies cannot be read', { PAYLOAD_CACHE: 1_000 }, async (stage) => {
    await stage.destination(BEHAVIOURS.ok);
    stage.world.service.slowStore.failing.add('readPayloads');
    const deliveries = await stage.post(2_500);
    const { payloadReads, refills } = await stage.measure(MINUTE_MS);
    assert.ok(payloadReads <= 500 && refills <= 250, `${payloadReads} reads of bodies, ${refills} refills`);
    const reports = stage.world.service.errors.length;
    assert.ok(reports <= 250, `${reports} errors are reported`);
    stage.world.service.slowStore.failing.clear();
    stage.world.disturb();
    await stage.clock.run(2 * MINUTE_MS);
    assert.deepEqual(stage.tally(deliveries), { succeeded: 2_500 });
  });
});
