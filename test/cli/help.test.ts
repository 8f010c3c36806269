// What the program says of itself: fits a terminal of 80 columns, knows every setting, and names what is wrong.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SETTINGS, VERSION, flagOf } from '../../src/config.ts';
import { environmentOf, runCommand } from '../e2e/service.ts';

const COMMANDS = ['serve', 'keys', 'demo', 'receive', 'migrate', 'backup', 'copy', 'version'];
const INSIDE = ['keys create', 'keys list', 'keys revoke'];

function run(line: string, settings: Record<string, string> = {}) {
  return runCommand(
    line.split(' ').filter((word) => word !== ''),
    environmentOf(settings),
  );
}

async function printed(line: string): Promise<string> {
  const { code, stdout, stderr } = await run(line);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' }, line);
  return stdout;
}

describe('help', () => {
  test('is there for every command in each form that people try, at most 80 columns wide', async () => {
    const texts = new Map<string, string>();
    for (const command of ['', ...COMMANDS, ...INSIDE]) {
      const text = await printed(`${command} --help`);
      for (const line of text.split('\n')) assert.ok(line.length <= 80, `${command}: ${line}`);
      assert.ok(text.includes(`Usage: postrider ${command === '' ? 'COMMAND' : command}`), text);
      texts.set(command, text);
    }
    for (const command of COMMANDS) assert.match(texts.get('')!, new RegExp(`^  ${command} `, 'm'));
    for (const command of INSIDE) assert.match(texts.get('keys')!, new RegExp(`^  ${command} `, 'm'));
    for (const command of ['', 'keys', 'keys revoke']) {
      assert.equal(await printed(`${command} -h`), texts.get(command));
      assert.equal(await printed(`help ${command}`), texts.get(command));
    }
  });

  test('of serve says of every setting what it takes and what it is by default', async () => {
    const text = (await printed('serve --help')).replaceAll(/\n +/g, ' ');
    for (const [name, { default: fallback, unit }] of Object.entries(SETTINGS)) {
      assert.match(text, new RegExp(` ${flagOf(name)} [A-Z]+ `), name);
      if (fallback !== '') assert.ok(text.includes(`default ${fallback}]`), name);
      if (/^\d/.test(unit)) assert.ok(text.includes(`[${unit}; default`), `${name}: ${unit}`);
    }
    assert.ok(text.includes('[on, off; default on]'));
  });

  test('offers a flag only where it means something', async () => {
    for (const command of ['backup', 'copy', 'receive']) {
      assert.doesNotMatch(await printed(`${command} -h`), /--database-url/, command);
    }
    const list = await printed('keys list -h');
    assert.match(list, /--data-dir/);
    assert.doesNotMatch(list, /--mode|--init/);
  });
});

test('the version, as a command and as a flag', async () => {
  assert.equal(await printed('version'), `${VERSION}\n`);
  assert.equal(await printed('--version'), `${VERSION}\n`);
  assert.deepEqual(JSON.parse(await printed('version --json')), { version: VERSION, node: process.versions.node });
});

test('a mistake is named, with what would be right: exit code 2, nothing on standard output', async () => {
  const mistakes: [line: string, message: RegExp][] = [
    ['', /name a command: serve, keys/],
    ['--bogus', /unknown flag --bogus/],
    ['help srve', /did you mean postrider serve\?/],
    ['keys lst --help', /did you mean postrider keys list\?/],
    ['serve -x', /unknown flag -x\n/],
    ['serve --data-dr x', /unknown flag --data-dr; did you mean --data-dir\?/],
    ['keys create --mode', /--mode takes a value: --mode MODE\n/],
    ['keys create --mode --json', /--mode takes a value: --mode MODE\n/],
    ['keys list --json=yes', /--json takes no value/],
    ['keys list extra', /unexpected argument: extra/],
    ['backup --database-url postgres://x/y f.db', /unknown flag --database-url/],
    ['receive --port x', /--port: "x" is not a whole number from 0 to 65535/],
  ];
  for (const [line, message] of mistakes) {
    const { code, stdout, stderr } = await run(line);
    assert.deepEqual({ code, stdout }, { code: 2, stdout: '' }, line);
    assert.match(stderr, message);
    assert.match(stderr, /^postrider: .*\nSee: postrider .*--help\n$/, 'one line, and where to look');
  }
  const elsewhere = { DATABASE_URL: 'postgres://x/y' };
  for (const [line, message] of [
    ['backup f.db', /pg_dump/],
    ['keys list --data-dir /nowhere', /--data-dir names one store and DATABASE_URL another/],
  ] as const) {
    const { code, stderr } = await run(line, elsewhere);
    assert.equal(code, 2);
    assert.match(stderr, message);
  }
});
