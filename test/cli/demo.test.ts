// `postrider demo` as people run it. That it finds faults is shown by a service that has some.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test, type TestContext } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { NEXT_STEPS } from '../../demo/next-steps.ts';
import { quote } from '../../src/cli/next-command.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const folder = await mkdtemp(join(tmpdir(), 'demo-test-'));
after(() => rm(folder, { recursive: true, force: true }));

/** Starts the demo with a temporary directory of its own, in which nothing may be left. */
async function startDemo(flags: string[] = [], environment: NodeJS.ProcessEnv = {}) {
  const temporary = await mkdtemp(join(folder, 'tmp-'));
  const env = { ...process.env, TMPDIR: temporary, ...environment };
  const child = spawn(join(ROOT, 'bin/postrider'), ['demo', ...flags], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  after(() => child.kill('SIGTERM'));
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  return {
    child,
    output: () => output,
    ended: async () => {
      const [code] = (await once(child, 'close')) as [number | null];
      assert.deepEqual(await readdir(temporary), [], 'a temporary folder was left behind');
      return { code, output, errors };
    },
  };
}

async function runDemo(flags: string[] = [], environment: NodeJS.ProcessEnv = {}) {
  return (await startDemo(flags, environment)).ended();
}

/** An emoji takes two columns. */
function columns(line: string): number {
  return Array.from(line).reduce((sum, character) => sum + (/\p{Emoji_Presentation}/u.test(character) ? 2 : 1), 0);
}

/** Code that the service runs before it starts, and nobody else. */
async function serviceFault(code: string): Promise<NodeJS.ProcessEnv> {
  const file = join(await mkdtemp(join(folder, 'fault-')), 'fault.mjs');
  await writeFile(
    file,
    `import crypto from 'node:crypto';\nimport { syncBuiltinESMExports } from 'node:module';\n
    if (process.argv[2] === 'serve') { ${code}; syncBuiltinESMExports(); }`,
  );
  return { NODE_OPTIONS: `--import=${pathToFileURL(file).href}` };
}

describe('a tour', () => {
  test('ends well, reads well in a log file, and leaves nothing behind', async () => {
    // What a service on the same machine is set to must not matter to the demo's own.
    const settings = { POSTRIDER_MAX_DESTINATIONS: '1', POSTRIDER_TEST_SUBNETS: '10.0.0.0/8', POSTRIDER_PORT: '1' };
    const { code, output, errors } = await runDemo([], settings);
    assert.deepEqual({ code, errors }, { code: 0, errors: '' }, output);
    const lines = output.split('\n');
    for (const line of lines) assert.ok(columns(line) <= 80, `longer than 80 columns: ${line}`);
    assert.ok(!/\p{Cc}/u.test(output.replaceAll('\n', '')), 'control characters');
    assert.equal(lines.filter((line) => /^ ?\d+ {2}\S/.test(line)).length, 12, 'steps');
    assert.match(output, /✔ nothing lost: all 30 arrived/);
    assert.match(output, /Everything arrived, and every signature was verified/);
    assert.ok(output.endsWith(NEXT_STEPS));
  });

  test('with --json prints its summary, and that alone', async () => {
    const { code, output, errors } = await runDemo(['--json']);
    assert.deepEqual({ code, errors }, { code: 0, errors: '' }, output);
    const summary = JSON.parse(output) as Record<string, unknown>;
    assert.deepEqual(
      { ...summary, duration_ms: 0 },
      {
        ok: true,
        events_sent: 49,
        requests_received: 62,
        verified: 62,
        retries: 4,
        duration_ms: 0,
        failed_step: null,
        error: null,
      },
    );
  });
});

test('a tour with --keep goes on until it is ended, and its link signs in once', async () => {
  const { child, output, ended } = await startDemo(['--keep']);
  while (!/\/sign-in\/\S+\n/.test(output())) await once(child.stdout, 'data');
  for (const line of output().split('\n')) assert.ok(columns(line) <= 80, `longer than 80 columns: ${line}`);
  const [link] = /http\S+\/sign-in\/\S+/.exec(output())!;
  const follow = async () => fetch(link, { redirect: 'manual' });
  const first = await follow();
  assert.deepEqual([first.status, first.headers.get('location')], [303, '/test/']);
  assert.equal((await follow()).headers.get('location'), '/sign-in?reason=link');
  const [cookie] = first.headers.get('set-cookie')!.split(';');
  const headers = { cookie: cookie!, 'postrider-mode': 'test' };
  const { data } = (await (await fetch(new URL('/v1/deliveries', link), { headers })).json()) as { data: object[] };
  assert.ok(data.length > 0, 'nothing to look at');
  child.kill('SIGTERM');
  const { code, errors } = await ended();
  assert.deepEqual({ code, errors }, { code: 0, errors: '' });
});

describe('a service with a fault', () => {
  test('that signs wrongly fails the demo at the first delivery', async () => {
    // The last of a signature's hashes is of a pad, which the key is in, and a digest.
    const wrongKey = `const { hash } = crypto;
      crypto.hash = (name, data, as) => hash(name, data.length === 96 ? data.subarray(1) : data, as)`;
    const { code, output, errors } = await runDemo(['--json'], await serviceFault(wrongKey));
    assert.equal(code, 1);
    const { ok, failed_step, error } = JSON.parse(output) as Record<string, unknown>;
    assert.deepEqual([ok, failed_step], [false, 'Send a dozen events']);
    assert.match(String(error), /got a request that is NOT verified: no matching signature found/);
    assert.match(errors, /The end of the service’s log:\n(?: {2}.*\n)* {2}\{/);
  });

  test('that rewrites numbers fails the demo though its signatures hold', async () => {
    // What a service does that parses bodies and writes them again, before it signs them.
    const rewrite = `const { hash } = crypto;
      const { write } = (await import('node:net')).default.Socket.prototype;
      const rewritten = (data) => Buffer.from(data.toString('latin1').replaceAll('129.90', '129.9 '), 'latin1');
      (await import('node:net')).default.Socket.prototype.write = function (data, ...rest) {
        return write.call(this, Buffer.isBuffer(data) ? rewritten(data) : data, ...rest);
      };
      crypto.hash = (name, data, ...rest) => hash(name, Buffer.isBuffer(data) ? rewritten(data) : data, ...rest)`;
    const { code, output } = await runDemo(['--json'], await serviceFault(rewrite));
    assert.equal(code, 1, output);
    assert.match(output, /every body arrived byte for byte.*does not hold: not so: the bytes are those that were sent/);
  });

  test('that does not start fails the demo with what it said', async () => {
    const { code, output, errors } = await runDemo(
      [],
      await serviceFault("console.error('no, sorry'); process.exit(3)"),
    );
    assert.equal(code, 1);
    assert.match(output, /✘ Start the service: failed/);
    assert.match(errors, /failed at "Start the service": the service ended by itself \(exit code 3\)/);
    assert.match(errors, /no, sorry/);
  });
});

describe('ending early', () => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    test(`${signal} ends the service too and removes its data, exit code 1`, async () => {
      const demo = await startDemo();
      while (!demo.output().includes('Make destinations')) await once(demo.child.stdout, 'data');
      const pid = Number(/process (\d+)/.exec(demo.output())![1]);
      demo.child.kill(signal);
      const { code, errors } = await demo.ended();
      assert.equal(code, 1);
      assert.match(errors, new RegExp(`ended by ${signal}`));
      assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
    });
  }

  test('a reader who leaves ends it as well', async () => {
    const demo = await startDemo();
    while (!demo.output().includes('Make destinations')) await once(demo.child.stdout, 'data');
    demo.child.stdout.destroy();
    assert.equal((await demo.ended()).code, 1);
  });

  test('no room for its data is said in one line', async () => {
    const { code, errors } = await runDemo([], { TMPDIR: join(folder, 'missing') });
    assert.equal(code, 1);
    assert.match(errors, /^postrider: cannot make a temporary folder: .*\n$/);
  });
});

test('what it says to try next works when pasted', async (t) => {
  const dataDir = join(folder, 'data');
  const [start, receive, ...pasted] = NEXT_STEPS.split('\n').filter((line) => line.startsWith('  '));
  const service = startLong(t, `${start} --port 0 --data-dir ${quote(dataDir)}`);
  const receiver = startLong(t, `${receive} --port 0`);
  const [, servicePort] = await service.until(/listening on http:\/\/127\.0\.0\.1:(\d+)/);
  const [, receiverPort] = await receiver.until(/Receiving on http:\/\/127\.0\.0\.1:(\d+)/);
  const script = pasted.join('\n').replaceAll(':8384/', `:${receiverPort}/`);
  const env = { ...process.env, POSTRIDER_DATA_DIR: dataDir, POSTRIDER_URL: `http://127.0.0.1:${servicePort}` };
  const shell = spawn('bash', ['-c', script], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  assert.deepEqual(await once(shell, 'close'), [0, null], output);
  assert.doesNotMatch(output, /"error"/);
  await receiver.until(/order\.paid {2}not checked {2}→ 200\n.*attempt 1\n.*"total":9\.90/);
});

/** What is typed as this line, in the shell's own process, until the test ends. `until` waits for what it prints. */
function startLong(t: TestContext, command: string) {
  const child = spawn('sh', ['-c', command.replace('bin/', 'exec bin/')], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return {
    async until(pattern: RegExp): Promise<RegExpExecArray> {
      for (;;) {
        const match = pattern.exec(output);
        if (match !== null) return match;
        assert.equal(child.exitCode, null, `${command} has ended: ${output}`);
        await Promise.race([once(child.stdout, 'data'), once(child, 'close')]);
      }
    },
  };
}
