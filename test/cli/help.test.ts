// What the program says of itself: fits a terminal of 80 columns, knows every setting, and names what is wrong.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { COMMAND_ENTRIES, ENTRIES } from '../../src/cli/commands.ts';
import { SETTINGS, VERSION, flagOf } from '../../src/config.ts';
import { startApi, type Json } from '../api/harness.ts';
import { environmentOf, runCommand } from '../e2e/service.ts';
import { runLines } from './lines.ts';

const COMMANDS = ENTRIES.map(({ name }) => name);
const INSIDE = COMMAND_ENTRIES.map(({ name }) => name).filter((name) => name.includes(' '));

/** What each line prints. */
async function printed(lines: readonly string[]): Promise<Map<string, string>> {
  const runs = await runLines(lines, environmentOf({}));
  return new Map(
    lines.map((line, nth) => {
      const { code, stdout, stderr } = runs[nth]!;
      assert.deepEqual({ code, stderr }, { code: 0, stderr: '' }, line);
      return [line, stdout];
    }),
  );
}

test('the program ends with what its command line came to', async () => {
  for (const line of ['keys --help', 'keys lst', 'version --json']) {
    const [{ code, stdout, stderr }, [inside]] = await Promise.all([
      runCommand(line.split(' '), environmentOf({})),
      runLines([line], environmentOf({})),
    ]);
    assert.deepEqual({ code, stdout, stderr }, inside, line);
  }
});

describe('help', () => {
  test('is there for every command in each form that people try, at most 80 columns wide', async () => {
    const forms = ['', 'keys', 'keys revoke'].flatMap((command) => [`${command} -h`, `help ${command}`]);
    const all = ['', ...COMMANDS, ...INSIDE];
    const texts = await printed([...all.map((command) => `${command} --help`), ...forms]);
    const helpOf = (command: string): string => texts.get(`${command} --help`)!;
    for (const command of all) {
      const text = helpOf(command);
      for (const line of text.split('\n')) assert.ok(line.length <= 80, `${command}: ${line}`);
      assert.ok(text.includes(`Usage: postrider ${command === '' ? 'COMMAND' : command}`), text);
    }
    for (const command of COMMANDS) assert.match(helpOf(''), new RegExp(`^  ${command} `, 'm'));
    for (const command of INSIDE) assert.match(helpOf(command.split(' ')[0]!), new RegExp(`^  ${command} `, 'm'));
    for (const { name } of COMMAND_ENTRIES) assert.match(helpOf(name), new RegExp(`Examples?:\n  postrider ${name}`));
    for (const command of ['', 'keys', 'keys revoke']) {
      assert.equal(texts.get(`${command} -h`), helpOf(command));
      assert.equal(texts.get(`help ${command}`), helpOf(command));
    }
  });

  test('of a retry policy and a filter shows one that the service takes', async (t) => {
    const texts = await printed(['destinations create --help', 'subscriptions create --help']);
    const [policy, filter] = [...texts.values()].map(
      (text) => JSON.parse(/such as\s+(\{\S+\})[;:]/.exec(text)![1]!) as Json,
    );
    const api = await startApi();
    t.after(() => api.close());
    const destination = { url: 'https://example.com/hooks', retry_policy: policy };
    const { json } = await api.expect(201, 'POST', '/v1/destinations', { body: destination });
    assert.deepEqual(json.retry_policy, policy);
    const subscription = { destination_id: json.id, event_type: 'order.*', filter };
    await api.expect(201, 'POST', '/v1/subscriptions', { body: subscription });
  });

  test('of serve says of every setting what it takes and what it is by default', async () => {
    const text = (await printed(['serve --help'])).get('serve --help')!.replaceAll(/\n +/g, ' ');
    for (const [name, { default: fallback, unit }] of Object.entries(SETTINGS)) {
      assert.match(text, new RegExp(` ${flagOf(name)} [A-Z]+ `), name);
      if (fallback !== '') assert.ok(text.includes(`default ${fallback}]`), name);
      if (/^\d/.test(unit)) assert.ok(text.includes(`[${unit}; default`), `${name}: ${unit}`);
    }
    assert.ok(text.includes('[on, off; default on]'));
  });

  test('offers a flag only where it means something', async () => {
    const texts = await printed(['backup -h', 'copy -h', 'receive -h', 'keys list -h']);
    const list = texts.get('keys list -h')!;
    texts.delete('keys list -h');
    for (const [line, text] of texts) assert.doesNotMatch(text, /--database-url/, line);
    assert.match(list, /--data-dir/);
    assert.doesNotMatch(list, /--mode|--init/);
  });
});

test('the version, as a command and as a flag', async () => {
  const texts = await printed(['version', '--version', 'version --json']);
  assert.equal(texts.get('version'), `${VERSION}\n`);
  assert.equal(texts.get('--version'), `${VERSION}\n`);
  assert.deepEqual(JSON.parse(texts.get('version --json')!), { version: VERSION, node: process.versions.node });
});

test('a mistake is named, with what would be right: exit code 2, nothing on standard output', async () => {
  const mistakes: [line: string, message: RegExp][] = [
    ['', /name a command: serve, keys/],
    ['--bogus', /unknown flag --bogus/],
    ['keys', /say what to do: keys create --mode test\|live, keys list, keys revoke ID, keys delete ID\n/],
    ['events', /say what to do: events list, events get ID, events replay ID, events replay --since WHEN\n/],
    ['help srve', /did you mean bin\/postrider serve\?/],
    ['keys lst --help', /did you mean bin\/postrider keys list\?/],
    ['serve -x', /unknown flag -x\n/],
    ['serve --data-dr x', /unknown flag --data-dr; did you mean --data-dir\?/],
    ['keys create --mode', /--mode takes a value: --mode MODE\n/],
    ['keys create --mode --json', /--mode takes a value: --mode MODE\n/],
    ['keys list --json=yes', /--json takes no value/],
    ['keys list extra', /unexpected argument: extra/],
    ['backup --database-url postgres://x/y f.db', /unknown flag --database-url/],
    ['copy', /: --to postgres:\/\/…, or set POSTRIDER_DATABASE_URL$/m],
    ['receive --port x', /--port: "x" is not a whole number from 0 to 65535/],
  ];
  const runs = await runLines(
    mistakes.map(([line]) => line),
    environmentOf({}),
  );
  for (const [nth, [line, message]] of mistakes.entries()) {
    const { code, stdout, stderr } = runs[nth]!;
    assert.deepEqual({ code, stdout }, { code: 2, stdout: '' }, line);
    assert.match(stderr, message);
    assert.match(stderr, /^postrider: .*\nSee: bin\/postrider .*--help\n$/, 'one line, and where to look');
  }
  const elsewhere = environmentOf({ DATABASE_URL: 'postgres://x/y' });
  const [backup, list] = await runLines(['backup f.db', 'keys list --data-dir /nowhere'], elsewhere);
  assert.deepEqual([backup!.code, list!.code], [2, 2]);
  assert.match(backup!.stderr, /pg_dump/);
  assert.match(list!.stderr, /--data-dir names one store and POSTRIDER_DATABASE_URL another/);
  const settings: [environment: Record<string, string>, message: RegExp][] = [
    [{ MASTER_KEY: 'secret' }, /POSTRIDER_MASTER_KEY must be 64 hex digits/],
    [{ DATABASE_URL: 'postgres://x/y' }, /POSTRIDER_DATABASE_URL needs POSTRIDER_MASTER_KEY/],
    [{ DATABASE_URL: 'postgres://x/y?sslmode=yes', MASTER_KEY: '7'.repeat(64) }, /POSTRIDER_DATABASE_URL: the sslmode/],
  ];
  for (const [environment, message] of settings) {
    const { code, stderr } = await runCommand(['serve'], environmentOf(environment));
    assert.equal(code, 2, stderr);
    assert.match(stderr, message);
  }
});
