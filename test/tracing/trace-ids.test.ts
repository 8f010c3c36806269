// What counts as a traceparent (W3C Trace Context, level 1, section 3.2), and ids that every node derives alike.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatTraceparent, parseTraceparent, spanIdOf, traceIdOf } from '../../src/tracing/trace-ids.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

test('reads a traceparent, sampled or not, and one of a later version', () => {
  const parent = { traceId: TRACE, spanId: SPAN };
  assert.deepEqual(parseTraceparent(`00-${TRACE}-${SPAN}-01`), { ...parent, isSampled: true });
  assert.deepEqual(parseTraceparent(`00-${TRACE}-${SPAN}-00`), { ...parent, isSampled: false });
  assert.deepEqual(parseTraceparent(`00-${TRACE}-${SPAN}-03`), { ...parent, isSampled: true });
  assert.deepEqual(parseTraceparent(`cc-${TRACE}-${SPAN}-01-more`), { ...parent, isSampled: true });
  assert.equal(formatTraceparent({ ...parent, isSampled: true }), `00-${TRACE}-${SPAN}-01`);
});

test('takes anything else for none', () => {
  for (const header of [
    '',
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-01-more`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    ` 00-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01\n`,
  ]) {
    assert.equal(parseTraceparent(header), null, JSON.stringify(header));
  }
});

test('an event names its trace, and what is not the same has not the same span', () => {
  assert.match(traceIdOf('evt_01h455vb4pex5vsknk084sn02q'), /^[0-9a-f]{32}$/);
  const subjects = ['dlv_1', 'dlv_1/1', 'dlv_1/2', 'dlv_2', 'dlv_2/1'];
  assert.equal(new Set(subjects.map(spanIdOf)).size, subjects.length);
  for (const subject of subjects) assert.match(spanIdOf(subject), /^[0-9a-f]{16}$/);
});
