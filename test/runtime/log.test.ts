// What happens to lines that nobody takes.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';

const LINES = 40_000;
const LINE_BYTES = 1_000;
const BYTES_MAX = 10_000_000;

/** Writes its lines, says so, and lives until its standard input ends. */
const PROGRAM = `
  import { createLog } from ${JSON.stringify(import.meta.resolve('../../src/runtime/log.ts'))};
  import { systemClock } from ${JSON.stringify(import.meta.resolve('../../src/runtime/clock.ts'))};
  const { log } = createLog('info', systemClock, { isShared: false });
  for (let i = 0; i < ${LINES}; i++) log.info('x'.repeat(${LINE_BYTES}));
  process.stderr.write('written');
  process.stdin.resume();
`;

test('memory for lines that nobody reads is bounded; those left out are counted', async (t) => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM]);
  t.after(() => void child.kill('SIGKILL'));
  const exit = once(child, 'exit');
  await once(child.stderr, 'data');
  let [bytes, kept, leftOut] = [0, 0, 0];
  for await (const line of createInterface({ input: child.stdout })) {
    bytes += line.length;
    const { lines } = JSON.parse(line) as { lines?: number };
    if (lines === undefined) kept++;
    else leftOut = lines;
    if (kept + leftOut === LINES) child.stdin.end();
  }
  assert.deepEqual(await exit, [0, null]);
  assert.equal(kept + leftOut, LINES);
  assert.ok(bytes < BYTES_MAX, `${bytes} bytes were kept`);
});
