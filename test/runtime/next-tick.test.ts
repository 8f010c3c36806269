import assert from 'node:assert/strict';
import { createHook } from 'node:async_hooks';
import test from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { keepTickShape } from '../../src/runtime/next-tick.ts';
import { collectGarbage } from '../support/collect-garbage.ts';

test('what one call of nextTick makes outlives a full collection, and with it the shape of all', async () => {
  const ticks: WeakRef<object>[] = [];
  const hook = createHook({
    init: (_asyncId, type, _trigger, resource) => void (type === 'TickObject' && ticks.push(new WeakRef(resource))),
  }).enable();
  keepTickShape();
  process.nextTick(() => {});
  hook.disable();
  assert.equal(ticks.length, 2);
  await setImmediate();
  collectGarbage();
  await setImmediate();
  assert.deepEqual(
    ticks.map((tick) => tick.deref() === undefined),
    [false, true],
    'the first is kept, another is not',
  );
});
