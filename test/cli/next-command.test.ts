// The lines that a user is told to type next: each is taken from what was printed, and works where it is typed.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { nextCommand, quote } from '../../src/cli/next-command.ts';
import { welcome } from '../../src/cli/welcome.ts';
import { environmentOf } from '../e2e/service.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PROGRAM = join(ROOT, 'bin/postrider');
const { PATH } = process.env;

const folder = await realpath(await mkdtemp(join(tmpdir(), 'postrider-next-')));
after(() => rm(folder, { recursive: true, force: true }));

function at(cwd: string, path = PATH): void {
  process.chdir(cwd);
  process.env['PATH'] = path;
}

describe('the name of the program', () => {
  after(() => at(ROOT));

  test('is short in the project’s folder, and a whole path in any other, the root of the disk too', () => {
    at(ROOT);
    assert.equal(nextCommand('serve'), 'bin/postrider serve');
    for (const elsewhere of [folder, '/', join(ROOT, 'src'), join(ROOT, '..')]) {
      at(elsewhere);
      assert.equal(nextCommand('serve'), `${quote(PROGRAM)} serve`, elsewhere);
    }
  });

  test('is its own where that leads here, and not where it leads to another program', async () => {
    const [ours, others] = [join(folder, 'ours'), join(folder, 'others')];
    await Promise.all([mkdir(ours), mkdir(others)]);
    await symlink(PROGRAM, join(ours, 'postrider'));
    await writeFile(join(others, 'postrider'), '', { mode: 0o755 });
    at(folder, [ours, others, PATH].join(delimiter));
    assert.equal(nextCommand('serve'), 'postrider serve');
    at(folder, [others, ours, PATH].join(delimiter));
    assert.equal(nextCommand('serve'), `${quote(PROGRAM)} serve`);
  });

  test('is one word for a shell, whatever the folder is called', async () => {
    const word = "/srv/it's $HOME/a b;c";
    const { stdout } = await promisify(execFile)('sh', ['-c', `printf %s ${quote(word)}`]);
    assert.equal(stdout, word);
    assert.equal(quote('/opt/postrider/bin/postrider'), '/opt/postrider/bin/postrider');
  });
});

describe('the way to a live key, as the first start prints it', () => {
  after(() => at(ROOT));

  const printed = (settings: { DATA_DIR: string; DATABASE_URL: string | null }): string[] => {
    const text = welcome({
      baseUrl: 'http://127.0.0.1:8383',
      keys: [{ mode: 'test', key: 'pr_test_x' }],
      signInLink: null,
      settings: { ...settings, TEST_SUBNETS: [] },
    });
    const lines = text.split('\n');
    const from = lines.findIndex((line) => line.startsWith('For a live key'));
    return lines.slice(from, from + 2).map((line) => line.trim());
  };

  test('leads to the store of this service from whatever folder it is typed in', async () => {
    const dataDir = join(folder, 'its data');
    const make = ['keys', 'create', '--mode', 'test', '--init', '--data-dir', dataDir];
    await promisify(execFile)(PROGRAM, make, { cwd: folder, env: environmentOf({}) });
    at(folder);
    const [head, line] = printed({ DATA_DIR: './its data', DATABASE_URL: null });
    assert.equal(head, 'For a live key:');
    const options = { cwd: tmpdir(), env: environmentOf({}) };
    const { stdout } = await promisify(execFile)('sh', ['-c', line!], options);
    assert.match(stdout, /^pr_live_\w{36}$/m);
    const { stdout: keys } = await promisify(execFile)(PROGRAM, ['keys', 'list', '--data-dir', dataDir], options);
    assert.ok(keys.includes(stdout.trim().slice(-4)), keys);
  });

  test('needs no folder in the project’s own, where both take the same, and says what PostgreSQL needs', () => {
    at(ROOT);
    assert.deepEqual(printed({ DATA_DIR: './data', DATABASE_URL: null }), [
      'For a live key:',
      'bin/postrider keys create --mode live',
    ]);
    const [head, line] = printed({ DATA_DIR: './data', DATABASE_URL: 'postgres://db/postrider' });
    assert.match(head!, /POSTRIDER_DATABASE_URL and POSTRIDER_MASTER_KEY/);
    assert.equal(line, 'bin/postrider keys create --mode live');
  });
});
