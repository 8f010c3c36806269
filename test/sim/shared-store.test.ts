// The service as a node on a store that nodes share: it sends when the shards are its own, which a node that crashed
// keeps until its lease has run out.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { BEHAVIOURS } from './receivers.ts';
import { situation } from './situation.ts';

const MINUTE_MS = 60_000;
const SHARED = { DATABASE_URL: 'shared' };

describe('on a shared store', () => {
  situation('what a crash leaves is sent when the lease has run out, and not before', SHARED, async (stage) => {
    const id = await stage.destination(BEHAVIOURS.ok, { ratePerSecond: 100 });
    const deliveries = await stage.post(500);
    await stage.clock.run(2_000);
    await stage.world.crash();
    const before = stage.received(id).length;
    await assert.rejects(stage.do(stage.clients.patchDestination(id, { maxInFlight: 10 })), { code: 'unavailable' });
    await stage.clock.run(5_000);
    assert.equal(stage.received(id).length, before);
    await stage.clock.run(MINUTE_MS);
    assert.deepEqual(stage.tally(deliveries), { succeeded: 500 });
  });

  situation('a stop gives the shards back, so that the next start goes on at once', SHARED, async (stage) => {
    await stage.destination(BEHAVIOURS.ok, { ratePerSecond: 100 });
    const deliveries = await stage.post(200);
    await stage.clock.run(500);
    await stage.world.restart(10_000);
    await stage.clock.run(4_000);
    assert.deepEqual(stage.tally(deliveries), { succeeded: 200 });
  });

  situation('a pause is in force when it is answered', SHARED, async (stage) => {
    const id = await stage.destination(BEHAVIOURS.ok, { ratePerSecond: 100 });
    const deliveries = await stage.post(500);
    await stage.clock.run(1_000);
    await stage.do(stage.clients.patchDestination(id, { status: 'paused' }));
    const before = stage.received(id).length;
    await stage.clock.run(MINUTE_MS);
    assert.ok(before > 0 && before < 500 && stage.received(id).length === before, `${before}`);
    await stage.do(stage.clients.patchDestination(id, { status: 'active' }));
    await stage.clock.run(MINUTE_MS);
    assert.deepEqual(stage.tally(deliveries), { succeeded: 500 });
  });

  situation('unfinished deliveries are counted anew once a minute', SHARED, async (stage) => {
    await stage.clock.run(10 * MINUTE_MS);
    const { recounts } = stage.world.cluster!;
    assert.ok(recounts >= 9 && recounts <= 11, `${recounts}`);
  });
});
