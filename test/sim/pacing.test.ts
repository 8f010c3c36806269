// When attempts go out, and when they must not: schedules, limits, holds, pauses, and destinations in trouble beside
// healthy ones. The ledgers watch limits, rates and holds throughout; here is what they cannot know.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { DestinationId } from '../../src/model/id.ts';
import { BEHAVIOURS } from './receivers.ts';
import { situation, TEST } from './situation.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

describe('schedules', () => {
  situation('an event is sent at once', {}, async (stage) => {
    const id = await stage.destination(BEHAVIOURS.ok);
    const postedAt = stage.clock.monotonic();
    const deliveries = await stage.post(1);
    await stage.clock.run(100);
    assert.deepEqual(stage.statuses(deliveries), ['succeeded']);
    const [exchange] = stage.received(id);
    assert.ok(exchange!.startedAt - postedAt < 10);
  });

  situation(
    'each retry comes its delay after the last attempt ended, and the last failure is death',
    {},
    async (stage) => {
      const schedule = [5, 300, 1_800];
      const id = await stage.destination(BEHAVIOURS.fails, { retryPolicy: { schedule_seconds: schedule, jitter: 0 } });
      const deliveries = await stage.post(1);
      await stage.clock.run(HOUR_MS);
      const log = stage.received(id);
      const delaysMs = log.slice(1).map(({ startedAt }, i) => startedAt - log[i]!.endedAt!);
      assert.equal(log.length, 4);
      for (const [i, delayMs] of delaysMs.entries()) {
        assert.ok(
          delayMs >= schedule[i]! * 1_000 - 1 && delayMs <= schedule[i]! * 1_000 + 1_000,
          `${i}: ${delayMs} ms`,
        );
      }
      assert.deepEqual(stage.statuses(deliveries), ['dead: exhausted']);
    },
  );

  situation('jitter only adds, and spreads', {}, async (stage) => {
    const spec = { retryPolicy: { schedule_seconds: [100], jitter: 1 } };
    const id = await stage.destination(BEHAVIOURS.dislikes, spec);
    await stage.post(40);
    await stage.clock.run(MINUTE_MS);
    const firstEndedAt = Math.min(...stage.received(id).map(({ endedAt }) => endedAt!));
    await stage.clock.run(HOUR_MS);
    const delaysMs = stage
      .received(id)
      .slice(40)
      .map(({ startedAt }) => startedAt - firstEndedAt);
    assert.equal(delaysMs.length, 40);
    assert.ok(Math.min(...delaysMs) >= 100_000 - 1 && Math.max(...delaysMs) <= 201_000);
    assert.ok(Math.max(...delaysMs) - Math.min(...delaysMs) > 50_000);
  });
});

describe('limits', () => {
  situation('a rate is kept on average over a backlog that spills', {}, async (stage) => {
    const id = await stage.destination(BEHAVIOURS.ok, { ratePerSecond: 20 });
    const deliveries = await stage.post(2_400);
    await stage.clock.run(2 * MINUTE_MS + 5_000);
    assert.deepEqual(stage.tally(deliveries), { succeeded: 2_400 });
    assert.ok(stage.received(id).at(-1)!.startedAt > 118_000);
  });

  situation('a rate is kept over restarts, and a new destination need not wait', {}, async (stage) => {
    const id = await stage.destination(BEHAVIOURS.ok, { ratePerSecond: 0.1 });
    await stage.post(4);
    await stage.clock.run(1_000);
    assert.equal(stage.received(id).length, 1);
    for (let i = 0; i < 3; i++) {
      await stage.world.crash();
      await stage.clock.run(13_000);
    }
    const times = stage.received(id).map(({ startedAt }) => startedAt);
    assert.ok(times.length >= 3);
    for (const [i, at] of times.slice(1).entries()) assert.ok(at - times[i]! >= 9_990, times.join(' '));
  });

  situation('one at a time: in the order they came, those that waited in the store too', {}, async (stage) => {
    const id = await stage.destination(BEHAVIOURS.ok, { maxInFlight: 1 });
    const deliveries = await stage.post(1_500);
    await stage.clock.run(10 * MINUTE_MS);
    assert.deepEqual(
      stage.received(id).map(({ deliveryId }) => deliveryId),
      deliveries,
    );
  });

  situation('what waits in memory is bounded, whatever is posted and retried', {}, async (stage) => {
    await stage.destination(BEHAVIOURS.hangs, { maxInFlight: 1, retryPolicy: { timeout_seconds: 60 } });
    const deliveries = await stage.post(2_500);
    assert.ok(stage.world.service.dispatcher.stats().waiting <= 1_000);
    await stage.do(Promise.all(deliveries.slice(0, 600).map((id) => stage.clients.retry(id))));
    assert.ok(stage.world.service.dispatcher.stats().waiting <= 1_100);
  });

  situation('every manual retry of many goes out, ahead of the backlog', {}, async (stage) => {
    const id = await stage.destination(BEHAVIOURS.hangs, { maxInFlight: 2, retryPolicy: { timeout_seconds: 1 } });
    const deliveries = await stage.post(2_500);
    const last = deliveries.slice(-400);
    await stage.do(Promise.all(last.map((delivery) => stage.clients.retry(delivery))));
    const before = stage.received(id).length;
    stage.setBehaviour(id, BEHAVIOURS.ok);
    await stage.clock.run(2 * MINUTE_MS);
    assert.deepEqual(stage.tally(last), { succeeded: 400 });
    // Two may have been on their way, and as many again while the first of the retries were read back.
    const soon = new Set(
      stage
        .received(id)
        .slice(before, before + 404)
        .map(({ deliveryId }) => deliveryId),
    );
    assert.ok(last.filter((delivery) => soon.has(delivery)).length >= 396);
  });
});

describe('holds and pauses', () => {
  situation('a Retry-After of a 429 holds the whole destination, and only until then', {}, async (stage) => {
    const id = await stage.destination(() => ({ afterMs: 5, code: 429, retryAfterMs: 10 * MINUTE_MS }), {
      maxInFlight: 1,
    });
    const deliveries = await stage.post(30);
    await stage.clock.run(MINUTE_MS);
    assert.equal(stage.received(id).length, 1);
    stage.setBehaviour(id, BEHAVIOURS.ok);
    await stage.clock.run(9 * MINUTE_MS + 5_000);
    assert.ok(stage.tally(deliveries)['succeeded']! >= 29);
  });

  situation('a hold survives a restart', {}, async (stage) => {
    const id = await stage.destination(() => ({ afterMs: 5, code: 429, retryAfterMs: 10 * MINUTE_MS }), {
      maxInFlight: 1,
    });
    await stage.post(5);
    await stage.clock.run(MINUTE_MS);
    await stage.world.crash();
    await stage.clock.run(MINUTE_MS);
    assert.equal(stage.received(id).length, 1);
    stage.setBehaviour(id, BEHAVIOURS.ok);
    await stage.clock.run(10 * MINUTE_MS);
    assert.equal(stage.received(id).length, 6);
  });

  situation('a manual retry goes out during a hold and a pause', {}, async (stage) => {
    const id = await stage.destination(() => ({ afterMs: 5, code: 429, retryAfterMs: HOUR_MS }), { maxInFlight: 1 });
    const [first, second] = await stage.post(3);
    await stage.clock.run(MINUTE_MS);
    stage.setBehaviour(id, BEHAVIOURS.ok);
    await stage.do(stage.clients.retry(first!));
    await stage.clock.run(100);
    await stage.do(stage.clients.patchDestination(id, { status: 'paused' }));
    await stage.do(stage.clients.retry(second!));
    await stage.clock.run(100);
    assert.deepEqual(stage.statuses([first!, second!]), ['succeeded', 'succeeded']);
    assert.equal(stage.received(id).length, 3);
  });

  situation('a 410 ends the delivery and pauses the destination at once', {}, async (stage) => {
    const id = await stage.destination(BEHAVIOURS.gone, { maxInFlight: 2 });
    const deliveries = await stage.post(50);
    await stage.clock.run(HOUR_MS);
    assert.equal(stage.world.view.destination(id)!.isPaused, true);
    const sent = stage.received(id).length;
    assert.ok(sent <= 4, `${sent} were sent`);
    assert.deepEqual(stage.tally(deliveries), { 'dead: gone': sent, pending: 50 - sent });
  });

  situation(
    'no success for too long pauses, and activating starts afresh',
    { FAILING_AFTER: 12 * MINUTE_MS },
    async (stage) => {
      const schedule = Array.from({ length: 40 }, () => 60);
      const id = await stage.destination(BEHAVIOURS.fails, { retryPolicy: { schedule_seconds: schedule, jitter: 0 } });
      const deliveries = await stage.post(1);
      await stage.clock.run(10 * MINUTE_MS);
      assert.equal(stage.world.view.destination(id)!.isPaused, false);
      await stage.clock.run(4 * MINUTE_MS);
      assert.equal(stage.world.view.destination(id)!.isPaused, true);
      const sent = stage.received(id).length;
      await stage.clock.run(12 * MINUTE_MS);
      assert.equal(stage.received(id).length, sent);
      await stage.do(stage.clients.patchDestination(id, { status: 'active' }));
      await stage.clock.run(6 * MINUTE_MS);
      assert.equal(stage.world.view.destination(id)!.isPaused, false);
      stage.setBehaviour(id, BEHAVIOURS.ok);
      await stage.clock.run(2 * MINUTE_MS);
      assert.deepEqual(stage.statuses(deliveries), ['succeeded']);
    },
  );
});

describe('trouble of one is not the trouble of others', () => {
  for (const name of ['hangs', 'refuses', 'slow', 'busy'] as const) {
    situation(`beside one that ${name}`, { MAX_IN_FLIGHT: 16 }, async (stage) => {
      await stage.destination(BEHAVIOURS[name], {}, 'bad.news');
      const id = await stage.destination(BEHAVIOURS.ok);
      await stage.post(300, 'bad.news');
      for (let i = 0; i < 30; i++) {
        const postedAt = stage.clock.monotonic();
        await stage.post(1);
        await stage.clock.run(1_000);
        const delayMs = stage.received(id).at(-1)!.startedAt - postedAt;
        assert.ok(delayMs < 150, `sent after ${delayMs} ms`);
      }
      assert.equal(stage.received(id).length, 30);
    });
  }

  situation('beside sixty that hang, one with many on the wire', { MAX_IN_FLIGHT: 128 }, async (stage) => {
    for (let i = 0; i < 60; i++) await stage.destination(BEHAVIOURS.hangs, {}, 'bad.news');
    const id = await stage.destination(() => ({ afterMs: 50, code: 200 }));
    const acceptedAt = new Map<string, number>();
    for (let i = 0; i < 800; i++) {
      if (i > 200 && i % 10 === 0) await stage.post(1, 'bad.news');
      const [delivery] = await stage.post(1);
      acceptedAt.set(delivery!, stage.clock.monotonic());
      await stage.clock.run(5);
    }
    await stage.clock.run(1_000);
    const log = stage.received(id);
    const delays = log.map(({ deliveryId, startedAt }) => startedAt - acceptedAt.get(deliveryId)!);
    assert.equal(log.length, 800);
    assert.ok(Math.max(...delays) < 25, `sent after ${Math.max(...delays)} ms`);
  });

  situation('beside a hundred of test mode that hang, new and known', { MAX_IN_FLIGHT: 32 }, async (stage) => {
    const retryPolicy = { timeout_seconds: 30, schedule_seconds: [1, 1] };
    for (let i = 0; i < 100; i++) await stage.destination(BEHAVIOURS.hangs, { retryPolicy }, 'bad.news', TEST);
    // These answer once before they hang, and so count as receivers that answer.
    const turncoats: DestinationId[] = [];
    for (let i = 0; i < 40; i++)
      turncoats.push(await stage.destination(BEHAVIOURS.ok, { retryPolicy }, 'odd.news', TEST));
    await stage.post(1, 'odd.news', TEST);
    await stage.clock.run(1_000);
    for (const id of turncoats) stage.setBehaviour(id, BEHAVIOURS.hangs);
    await stage.post(1, 'odd.news', TEST);
    await stage.post(3, 'bad.news', TEST);
    for (let i = 0; i < 80; i++) {
      const id = await stage.destination(BEHAVIOURS.ok, {}, `order.paid${i}`);
      for (let n = 0; n < 2; n++) {
        const postedAt = stage.clock.monotonic();
        await stage.post(1, `order.paid${i}`);
        await stage.clock.run(500);
        const delayMs = (stage.received(id)[n]?.startedAt ?? Number.POSITIVE_INFINITY) - postedAt;
        assert.ok(delayMs < 150, `sent after ${delayMs} ms`);
      }
    }
  });

  situation('beside more that are known to hang than there are slots', { MAX_IN_FLIGHT: 16 }, async (stage) => {
    const retryPolicy = { timeout_seconds: 2, schedule_seconds: [1, 1, 1, 1, 1] };
    const silent: string[] = [];
    for (let i = 0; i < 40; i++) silent.push(await stage.destination(BEHAVIOURS.hangs, { retryPolicy }, 'bad.news'));
    const id = await stage.destination(BEHAVIOURS.ok);
    const bad = await stage.post(1, 'bad.news');
    await stage.clock.run(8_000);
    for (let i = 0; i < 60; i++) {
      bad.push(...(await stage.post(1, 'bad.news')));
      const postedAt = stage.clock.monotonic();
      await stage.post(1);
      await stage.clock.run(500);
      const delayMs = stage.received(id).at(-1)!.startedAt - postedAt;
      assert.ok(delayMs < 150, `sent after ${delayMs} ms`);
    }
    for (const each of silent) stage.setBehaviour(each as typeof id, BEHAVIOURS.ok);
    await stage.clock.run(2 * MINUTE_MS);
    const { pending, retrying } = stage.tally(bad);
    assert.deepEqual([pending, retrying], [undefined, undefined], 'each has had its turn');
  });

  situation(
    'one that hung is found within two seconds when it answers, and has its backlog soon',
    {},
    async (stage) => {
      const id = await stage.destination(BEHAVIOURS.hangs);
      await stage.post(4_000);
      await stage.clock.run(50_000);
      const spent = stage.received(id).length;
      assert.ok(spent <= 53, `${spent} requests while it hung`);
      stage.setBehaviour(id, BEHAVIOURS.ok);
      await stage.clock.run(2_000);
      assert.ok(stage.received(id).some(({ result }) => result?.outcome === 'succeeded'));
      await stage.clock.run(3_000);
      assert.ok(stage.received(id).length - spent >= 4_000 - spent, `${stage.received(id).length} were sent`);
    },
  );

  situation('one that refuses gets hardly more than an attempt a second', {}, async (stage) => {
    const id = await stage.destination(BEHAVIOURS.refuses, { retryPolicy: { schedule_seconds: [3_600] } });
    await stage.post(500);
    await stage.clock.run(MINUTE_MS);
    const log = stage.received(id);
    // Before it was known, as many as any may have on the wire.
    assert.ok(log.length >= 65 && log.length <= 85, `${log.length} attempts`);
    const last = log.slice(-20).map(({ startedAt }) => startedAt);
    // A second from start to start; what a start has to read from the store before its request goes out may differ.
    assert.ok(last.slice(1).every((at, i) => at - last[i]! >= 980));
    assert.ok(last.at(-1)! - last[0]! >= 18_980);
  });

  situation('one that hangs comes back to speed when it is well again', {}, async (stage) => {
    const id = await stage.destination(BEHAVIOURS.hangs, {
      retryPolicy: { schedule_seconds: [30, 30, 30, 30], timeout_seconds: 5 },
    });
    const deliveries = await stage.post(300);
    await stage.clock.run(MINUTE_MS);
    stage.setBehaviour(id, BEHAVIOURS.ok);
    await stage.clock.run(2 * MINUTE_MS);
    assert.deepEqual(stage.tally(deliveries), { succeeded: 300 });
  });
});
