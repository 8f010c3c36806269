// `postrider keys` on a store, and where there is none: no slip in a path makes a key that no service knows.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, open, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Api } from '../e2e/api.ts';
import { environmentOf, runCommand, Service } from '../e2e/service.ts';
import { rowsOf, runLines } from './lines.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/postrider', import.meta.url));
const HOUR_MS = 3_600_000;

const folder = await mkdtemp(join(tmpdir(), 'postrider-keys-'));
after(() => rm(folder, { recursive: true, force: true }));

type Key = { id: string; secret: string; expires_at: string | null };

describe('where there is no store', () => {
  const empty = join(folder, 'empty');
  const missing = join(folder, 'missing');
  const lost = join(folder, 'lost');
  before(async () => {
    await mkdir(empty);
    await mkdir(lost);
    await writeFile(join(lost, 'postrider.db'), '');
  });

  test('every command says so and what to name, and makes nothing', async () => {
    const commands = ['keys create --mode test', 'keys list', 'keys revoke key_x', 'migrate', 'backup copy.db'];
    for (const dataDir of [missing, empty]) {
      const runs = await runLines(commands, environmentOf({ DATA_DIR: dataDir }));
      for (const [nth, line] of commands.entries()) {
        const { code, stdout, stderr } = runs[nth]!;
        assert.deepEqual({ code, stdout }, { code: 1, stdout: '' }, line);
        assert.ok(stderr.startsWith(`postrider: there is no store in ${dataDir}. `), stderr);
        assert.match(stderr, /--data-dir/);
        assert.equal(stderr.includes('--init'), line.startsWith('keys create'), 'the way to make one');
      }
    }
    const runs = await runLines(commands, environmentOf({ DATA_DIR: lost }));
    for (const [nth, line] of commands.entries()) {
      const { code, stderr } = runs[nth]!;
      assert.equal(code, 1, line);
      assert.match(stderr, /^postrider: .*postrider\.db is empty: the database that was there is lost/);
    }
    assert.deepEqual(await readdir(folder), ['empty', 'lost']);
    assert.deepEqual(await readdir(empty), []);
    assert.deepEqual(await readdir(lost), ['postrider.db']);
  });

  test('create makes one when told to, says so, and the service that starts on it knows the key', async (t) => {
    const service = new Service();
    t.after(() => service.end());
    service.dataDir = join(folder, 'new');
    const argv = ['keys', 'create', '--mode', 'test', '--init', '--json'];
    const first = await runCommand(argv, service.environment());
    assert.equal(first.code, 0, first.stderr);
    assert.ok(first.stderr.startsWith(`there is no store in ${service.dataDir}: making a new one`), first.stderr);
    const again = await runCommand(argv, service.environment());
    assert.deepEqual([again.code, again.stderr], [0, ''], 'made once');
    await service.start();
    assert.equal(service.key, '', 'the key that is there is the first one');
    const { secret } = JSON.parse(first.stdout) as Key;
    assert.equal((await new Api(service, secret).send('GET', '/v1/events')).status, 200);
  });
});

describe('on a store', () => {
  const service = new Service();
  before(() => service.start());
  after(() => service.end());

  async function command(...argv: string[]): Promise<string> {
    const { code, stdout, stderr } = await runCommand(['keys', ...argv], service.environment());
    assert.equal(code, 0, stderr);
    return stdout;
  }

  test('revoke of a key that is not there names the list of the same store', async () => {
    const argv = ['keys', 'revoke', 'key_x', '--data-dir', service.dataDir];
    const { code, stderr } = await runCommand(argv, service.environment());
    assert.equal(code, 1);
    assert.ok(stderr.includes(`keys list --data-dir ${service.dataDir}" shows them`), stderr);
  });

  async function create(...flags: string[]): Promise<Key> {
    return JSON.parse(await command('create', '--mode', 'test', '--json', ...flags)) as Key;
  }

  test('a key ends to be valid when --expires says', async () => {
    assert.equal((await create()).expires_at, null);
    assert.equal((await create('--expires', '2990-01-31')).expires_at, '2990-01-31T00:00:00.000Z');
    assert.equal((await create('--expires', '2990-01-31T10:00:00+02:00')).expires_at, '2990-01-31T08:00:00.000Z');
    const [earliest, { expires_at: at }] = [Date.now() + 12 * HOUR_MS, await create('--expires', '12h')];
    assert.ok(Date.parse(at!) >= earliest && Date.parse(at!) <= Date.now() + 12 * HOUR_MS, at!);
    const short = new Api(service, (await create('--expires', '1500ms')).secret);
    await new Api(service).eventually(
      async () => (await short.send('GET', '/v1/events')).status,
      (status) => status === 401,
    );
    const wrongs = ['2020-01-01', '0', '2027-02-30', '999999999999999999d'];
    const runs = await runLines(
      wrongs.map((wrong) => `keys create --mode test --expires ${wrong}`),
      service.environment(),
    );
    for (const [nth, wrong] of wrongs.entries()) {
      const { code, stderr } = runs[nth]!;
      assert.equal(code, 2, wrong);
      assert.ok(stderr.includes(`--expires: "${wrong}"`), stderr);
    }
  });

  test('a name and scopes are what the API takes: an empty name, 256 of any character, no scope twice', async () => {
    await create('--name', '');
    await create('--name', '🎉'.repeat(256));
    for (const wrong of [`--name ${'🎉'.repeat(257)}`, '--scopes read,publish,read']) {
      const [run] = await runLines([`keys create --mode test ${wrong}`], service.environment());
      assert.equal(run!.code, 2, wrong);
      assert.match(run!.stderr, /^postrider: (--name takes at most 256|--scopes: "read" is there twice)/);
    }
  });

  test('the list has a header, a line a key, and no line that a name could make', async () => {
    const { id } = await create(
      '--name',
      'two\nlines \u001b[31m',
      '--scopes',
      'read,publish',
      '--expires',
      '2990-01-31',
    );
    const [header, first, ...others] = (await command('list')).trimEnd().split('\n');
    assert.match(header!, /^ID +KEY +LAST USED +NAME +SCOPES +EXPIRES$/);
    assert.match(
      first!,
      /^key_\w{26} {2}pr_test_…\w{4} +never +two lines \\u001b\[31m +read,publish +2990-01-31T00:00Z$/,
    );
    assert.ok(first!.startsWith(id));
    for (const line of others) assert.match(line, /^key_/);
    const all = rowsOf<Key>(await command('list', '--json'));
    assert.deepEqual([all.length, all[0]!.id], [others.length + 1, id]);
  });

  test('an empty list is no error', async () => {
    const keys = rowsOf<Key>(await command('list', '--json'));
    const revoked = await runLines(
      keys.map(({ id }) => `keys revoke ${id}`),
      service.environment(),
    );
    for (const { code, stderr } of revoked) assert.equal(code, 0, stderr);
    const { code, stdout, stderr } = await runCommand(['keys', 'list'], service.environment());
    assert.deepEqual({ code, stdout }, { code: 0, stdout: '' });
    assert.match(stderr, /keys create --mode/);
    assert.equal(await command('list', '--json'), '');
  });

  test('whoever stops reading ends it without a stack', async () => {
    await create();
    const child = spawn(PROGRAM, ['keys', 'list', '--json'], {
      env: service.environment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.destroy();
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    await once(child, 'close');
    assert.equal(stderr, '');
  });

  test('a result that cannot be written is a failure, and the key that was made is named', async (t) => {
    const full = await open('/dev/full', 'w').catch(() => null);
    if (full === null) return t.skip('this system has no /dev/full');
    t.after(() => full.close());
    const argv = ['keys', 'create', '--mode', 'test'];
    const child = spawn(PROGRAM, argv, { env: service.environment(), stdio: ['ignore', full.fd, 'pipe'] });
    let stderr = '';
    child.stderr!.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number];
    assert.equal(code, 1);
    assert.match(stderr, /^key_\w{26}: a test key/);
    assert.match(stderr, /postrider: cannot write the result to standard output: ENOSPC/);
    assert.doesNotMatch(stderr, /^\s+at /m);
  });
});
