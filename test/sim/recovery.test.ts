// Crashes, stops, a store that is away and a wall clock that is set: nothing accepted is lost, nothing is sent twice
// but what a crash cut off, and all goes on by itself.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { BEHAVIOURS } from './receivers.ts';
import { situation } from './situation.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const WEEK_MS = 168 * HOUR_MS;
const ONCE = { schedule_seconds: [], timeout_seconds: 60 };

describe('a crash', () => {
  situation('in the middle of a backlog loses nothing, and repeats only what was under way', {}, async (stage) => {
    const id = await stage.destination(BEHAVIOURS.ok, { ratePerSecond: 100, maxInFlight: 20 });
    const deliveries = await stage.post(1_500);
    await stage.clock.run(3_000);
    for (let i = 0; i < 4; i++) {
      await stage.world.crash();
      await stage.clock.run(2_000);
    }
    await stage.clock.run(MINUTE_MS);
    assert.deepEqual(stage.tally(deliveries), { succeeded: 1_500 });
    const repeats = stage.received(id).length - 1_500;
    assert.ok(repeats <= 4 * 60, `${repeats} were sent again`);
  });

  situation('keeps the schedule: a retry comes when it is due, not at the start', {}, async (stage) => {
    const id = await stage.destination(BEHAVIOURS.fails, { retryPolicy: { schedule_seconds: [600], jitter: 0 } });
    await stage.post(1);
    await stage.clock.run(5 * MINUTE_MS);
    await stage.world.crash();
    await stage.clock.run(4 * MINUTE_MS);
    assert.equal(stage.received(id).length, 1);
    await stage.clock.run(2 * MINUTE_MS);
    assert.equal(stage.received(id).length, 2);
  });

  situation('does not forget a manual retry, nor what the delivery was', {}, async (stage) => {
    const id = await stage.destination(BEHAVIOURS.ok, { maxInFlight: 1, retryPolicy: ONCE });
    const [arrived] = await stage.post(1);
    await stage.clock.run(1_000);
    stage.setBehaviour(id, BEHAVIOURS.hangs);
    await stage.post(1);
    await stage.clock.run(1_000);
    await stage.do(stage.clients.retry(arrived!));
    assert.deepEqual(stage.statuses([arrived!]), ['retrying']);
    await stage.world.crash();
    stage.setBehaviour(id, BEHAVIOURS.fails);
    await stage.clock.run(2 * MINUTE_MS);
    assert.deepEqual(stage.statuses([arrived!]), ['succeeded']);
    assert.equal(stage.received(id).filter(({ deliveryId }) => deliveryId === arrived).length, 2);
  });
});

describe('a stop', () => {
  situation('lets what is on the wire end, and records it', {}, async (stage) => {
    const id = await stage.destination(() => ({ afterMs: 5_000, code: 200 }), { maxInFlight: 10 });
    const deliveries = await stage.post(30);
    await stage.clock.run(1_000);
    await stage.world.restart(20_000);
    assert.deepEqual(stage.tally(deliveries), { succeeded: 10, pending: 20 });
    await stage.clock.run(MINUTE_MS);
    assert.deepEqual(stage.tally(deliveries), { succeeded: 30 });
    assert.equal(stage.received(id).length, 30);
  });

  situation('aborts what takes too long, unrecorded; it is sent again at the next start', {}, async (stage) => {
    const id = await stage.destination(() => ({ afterMs: 10_000, code: 200 }), { retryPolicy: ONCE });
    const deliveries = await stage.post(5);
    await stage.clock.run(1_000);
    await stage.world.restart(2_000);
    assert.deepEqual(stage.tally(deliveries), { pending: 5 });
    await stage.clock.run(MINUTE_MS);
    assert.deepEqual(stage.tally(deliveries), { succeeded: 5 });
    assert.equal(stage.received(id).length, 10);
    assert.deepEqual(
      deliveries.map((delivery) => stage.world.view.delivery(delivery)!.attemptCount),
      [1, 1, 1, 1, 1],
    );
  });

  situation('starts nothing more, though there is a backlog', {}, async (stage) => {
    const id = await stage.destination(BEHAVIOURS.ok, { maxInFlight: 5 });
    await stage.post(500);
    await stage.clock.run(50);
    const before = stage.received(id).length;
    await stage.do(stage.world.service.stop(20_000));
    await stage.clock.run(MINUTE_MS);
    const after = stage.received(id).length;
    assert.ok(before > 0 && after - before <= 5, `${before}, then ${after}`);
    await stage.world.crash();
    await stage.clock.run(MINUTE_MS);
    assert.equal(stage.received(id).length, 500);
  });
});

describe('a store that is away', () => {
  situation('keeps results waiting, starts nothing meanwhile, and all is recorded in the end', {}, async (stage) => {
    const id = await stage.destination(BEHAVIOURS.slow, { maxInFlight: 50, retryPolicy: ONCE });
    const deliveries = await stage.post(200);
    await stage.clock.run(5_000);
    stage.world.setTrouble('writes');
    await stage.clock.run(20_000);
    const sent = stage.received(id).length;
    await stage.clock.run(10 * MINUTE_MS);
    assert.equal(stage.received(id).length, sent);
    assert.deepEqual(stage.world.service.api.readiness().reasons, ['results cannot be stored']);
    stage.world.setTrouble(null);
    await stage.clock.run(2 * MINUTE_MS);
    assert.deepEqual(stage.tally(deliveries), { succeeded: 200 });
    assert.equal(stage.received(id).length, 200);
  });

  situation('for new events only, because the disk is nearly full, goes on with the old ones', {}, async (stage) => {
    await stage.destination(BEHAVIOURS.ok, { ratePerSecond: 10 });
    const deliveries = await stage.post(100);
    stage.world.setTrouble('accepts');
    const refused = await stage.do(
      stage.clients.post({ environment: 1, type: 'order.paid', n: stage.clients.nextBody() }),
    );
    assert.equal(refused, null);
    await stage.clock.run(MINUTE_MS);
    assert.deepEqual(stage.tally(deliveries), { succeeded: 100 });
  });

  situation('when a manual retry is asked for does not delay it by more than a moment', {}, async (stage) => {
    const settings = { status: 'paused', retryPolicy: ONCE } as const;
    await stage.destination(BEHAVIOURS.ok, settings);
    const [delivery] = await stage.post(1);
    await stage.world.crash();
    await stage.clock.run(1_000);
    stage.world.setTrouble('reads');
    await stage.do(stage.clients.retry(delivery!));
    await stage.clock.run(5_000);
    stage.world.setTrouble(null);
    await stage.clock.run(1_500);
    assert.deepEqual(stage.statuses([delivery!]), ['succeeded']);
  });
});

describe('a wall clock that is set', () => {
  for (const byMs of [-HOUR_MS, -5_000, 5_000, HOUR_MS]) {
    situation(`by ${byMs / 1_000} s: what comes next is sent at once, and what is due comes`, {}, async (stage) => {
      const ok = await stage.destination(BEHAVIOURS.ok);
      const failing = await stage.destination(
        BEHAVIOURS.fails,
        { retryPolicy: { schedule_seconds: [60], jitter: 0 } },
        'bad.news',
      );
      await stage.post(1);
      await stage.post(1, 'bad.news');
      await stage.clock.run(10_000);
      stage.world.setWallClock(byMs);
      const before = stage.received(ok).length;
      await stage.post(20);
      await stage.clock.run(1_000);
      assert.equal(stage.received(ok).length, before + 20);
      // Set back, the retry is as much further away; set forward, the sweep finds it due.
      await stage.clock.run(Math.max(0, -byMs) + 60_000);
      assert.equal(stage.received(failing).length, 2);
    });
  }

  situation('an hour ahead for a second leaves what comes afterwards due at once', {}, async (stage) => {
    const id = await stage.destination(BEHAVIOURS.ok, { status: 'paused' });
    stage.world.setWallClock(HOUR_MS);
    await stage.post(10);
    await stage.clock.run(1_000);
    stage.world.setWallClock(-HOUR_MS);
    const later = await stage.post(10);
    for (const delivery of later) {
      const { dueAt } = stage.world.view.delivery(delivery)!;
      assert.ok(dueAt !== null && dueAt <= stage.clock.now(), 'by the clock as it is now');
    }
    // From the store, where they waited.
    await stage.do(stage.clients.patchDestination(id, { status: 'active' }));
    await stage.clock.run(MINUTE_MS);
    assert.deepEqual(stage.tally(later), { succeeded: 10 });
  });

  situation('ahead by a week for a minute pauses nobody for failing', {}, async (stage) => {
    const id = await stage.destination(BEHAVIOURS.fails, {
      retryPolicy: { max_attempts: 20, initial_seconds: 5, factor: 1, jitter: 0 },
    });
    await stage.post(15);
    await stage.clock.run(20_000);
    const before = stage.received(id).length;
    stage.world.setWallClock(WEEK_MS);
    await stage.clock.run(MINUTE_MS);
    assert.ok(stage.received(id).length > before, 'it fails on');
    stage.world.setWallClock(-WEEK_MS);
    await stage.clock.run(MINUTE_MS);
    assert.equal(stage.world.view.destination(id)!.isPaused, false);
  });

  situation('back does not hold up a backlog that was due', {}, async (stage) => {
    await stage.destination(BEHAVIOURS.ok, { ratePerSecond: 20 });
    const deliveries = await stage.post(800);
    await stage.clock.run(5_000);
    stage.world.setWallClock(-HOUR_MS);
    await stage.clock.run(2 * MINUTE_MS);
    assert.deepEqual(stage.tally(deliveries), { succeeded: 800 });
  });
});
