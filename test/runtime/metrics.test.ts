// What a scrape gets. The client writes NaN as Nan, which Prometheus reads in any case of its letters.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '../../src/runtime/metrics.ts';

test('what cannot be read is NaN, and costs no other metric', async () => {
  const metrics = createMetrics('1.2.3');
  metrics.watch({
    onWire: () => 7,
    waiting: () => 0,
    unfinished: () => Promise.reject(new Error('the store is away')),
    shardsOwned: () => 256,
    storedBytes: () => {
      throw new Error('the store is away');
    },
    eventLoopDelaySeconds: () => 0,
  });
  const text = await metrics.registry.metrics();
  assert.match(text, /^postrider_attempts_on_wire 7$/m);
  assert.match(text, /^postrider_deliveries_unfinished nan$/im);
  assert.match(text, /^postrider_stored_bytes nan$/im);
});
