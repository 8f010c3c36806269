// The dashboard's build, by the script that npm start runs beside the service: on a folder of its own, with npm and a
// build that needs no registry.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { buildDashboard } from '../../src/cli/dashboard-build.ts';
import { createRecordingLog } from '../support/recording-log.ts';

const SCRIPT = fileURLToPath(new URL('../../scripts/ensure-installed', import.meta.url));
/** Counts builds in a file that is no source. */
const BUILD = `
  import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
  mkdirSync('dist', { recursive: true });
  appendFileSync('../builds', 'one\\n');
  writeFileSync('dist/index.html', readFileSync('page.html'));
`;

const folder = await mkdtemp(join(tmpdir(), 'dashboard-build-test-'));
after(() => rm(folder, { recursive: true, force: true }));

async function project({ build = BUILD } = {}) {
  const root = await mkdtemp(join(folder, 'root-'));
  const dashboard = join(root, 'dashboard');
  for (const path of ['scripts', 'dashboard', 'node_modules/.bin']) await mkdir(join(root, path), { recursive: true });
  await cp(SCRIPT, join(root, 'scripts/ensure-installed'));
  await symlink(process.execPath, join(root, 'node_modules/.bin/node'));
  const manifest = { name: 'd', version: '0.0.0', private: true };
  const lock = { ...manifest, lockfileVersion: 3, requires: true, packages: { '': manifest } };
  const files = {
    'package.json': JSON.stringify({ ...manifest, scripts: { build: 'node build.mjs' } }),
    'package-lock.json': JSON.stringify(lock),
    'build.mjs': build,
    'page.html': 'first',
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(dashboard, name), text);
  return {
    root,
    page: () => readFile(join(dashboard, 'dist/index.html'), 'utf8'),
    builds: async () => (await readFile(join(root, 'builds'), 'utf8')).split('\n').length - 1,
    write: (name: string, text: string) => writeFile(join(dashboard, name), text),
    script: join(root, 'scripts/ensure-installed'),
  };
}

/** As a group of its own, as the service starts it; its output is told when it has ended. */
function run(script: string) {
  const child = spawn(script, ['--dashboard'], { detached: true, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, said }));
  return { child, ended };
}

test('it is built where it is missing, again when its sources change, and not otherwise', async () => {
  const { script, page, builds, write } = await project();
  const first = await run(script).ended;
  assert.deepEqual([first.code, await page()], [0, 'first'], first.said);
  assert.match(first.said, /building the dashboard/);
  assert.deepEqual(await run(script).ended, { code: 0, said: '' });
  await write('page.html', 'second');
  assert.equal((await run(script).ended).code, 0);
  assert.deepEqual([await page(), await builds()], ['second', 2]);
});

test('of several who want it at once one builds it, and the others have it', async () => {
  const { root, script, builds } = await project();
  const runs = await Promise.all([1, 2, 3].map(() => run(script).ended));
  assert.deepEqual(
    runs.map(({ code }) => code),
    [0, 0, 0],
  );
  assert.equal(await builds(), 1);
  assert.ok(!(await readdir(root)).includes('.dashboard-lock'));
});

test('a build that fails is told once, with its reason, and tried again at the next start', async () => {
  const { script, write, page } = await project({ build: "throw new Error('no such component')" });
  const { log, lines } = createRecordingLog(['info', 'warn', 'error']);
  const told = async (): Promise<void> => {
    const count = lines.length;
    buildDashboard({ script, log });
    while (lines.length === count) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  await told();
  assert.deepEqual([lines.length, lines[0]!.level], [1, 'warn']);
  assert.match(lines[0]!.message, /npm run build:dashboard/);
  assert.match(String(lines[0]!.fields['reason']), /the dashboard could not be built/);
  await write('build.mjs', BUILD);
  await told();
  assert.deepEqual([lines.length, lines[1]!.level, await page()], [2, 'info', 'first']);
});

test('one that is stopped leaves nothing behind that the next would wait for', async () => {
  const { root, script, write, page } = await project({
    build: "import { writeFileSync } from 'node:fs'; writeFileSync('../started', ''); setInterval(() => {}, 1000);",
  });
  const { child, ended } = run(script);
  while (!(await readdir(root)).includes('started')) await new Promise((resolve) => setTimeout(resolve, 10));
  process.kill(-child.pid!, 'SIGTERM');
  assert.equal((await ended).code, 143);
  assert.ok(!(await readdir(root)).includes('.dashboard-lock'));
  await write('build.mjs', BUILD);
  assert.equal((await run(script).ended).code, 0);
  assert.equal(await page(), 'first');
});
