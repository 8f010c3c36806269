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
    oldestDueSeconds: () => 0,
    streamsOpen: () => 0,
    operationsRunning: () => 0,
    storedBytes: () => {
      throw new Error('the store is away');
    },
    eventLoopDelaySeconds: () => 0,
    largestBacklogs: () => Promise.reject(new Error('the store is away')),
  });
  const text = await metrics.registry.metrics();
  assert.match(text, /^postrider_attempts_on_wire 7$/m);
  assert.match(text, /^postrider_deliveries_unfinished nan$/im);
  assert.match(text, /^postrider_stored_bytes nan$/im);
});

test('of destinations those are told that are asked for, as they are at each scrape', async () => {
  const metrics = createMetrics('1.2.3');
  let largest = [
    { destinationId: 'dst_1', unfinished: 30 },
    { destinationId: 'dst_2', unfinished: 20 },
  ];
  const zero = (): number => 0;
  const gauges = {
    onWire: zero,
    waiting: zero,
    shardsOwned: zero,
    oldestDueSeconds: zero,
    streamsOpen: zero,
    operationsRunning: zero,
    eventLoopDelaySeconds: zero,
  };
  const none = (): Promise<number> => Promise.resolve(0);
  metrics.watch({ ...gauges, unfinished: none, storedBytes: none, largestBacklogs: async () => largest });
  const scrape = async (): Promise<string[]> => {
    const text = await metrics.registry.metrics();
    return [...text.matchAll(/^postrider_destination_deliveries_unfinished(.*)$/gm)].map(([, line]) => line!);
  };
  assert.deepEqual(await scrape(), ['{destination="dst_1"} 30', '{destination="dst_2"} 20']);
  largest = [{ destinationId: 'dst_3', unfinished: 7 }];
  assert.deepEqual(await scrape(), ['{destination="dst_3"} 7'], 'those that are no longer among them are gone');
});
