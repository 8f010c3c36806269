// What each shell offers after the start of a line, asked of the shell itself.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { environmentOf } from '../e2e/service.ts';
import { Prompt } from './lines.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'postrider-completion-'));
after(() => rmSync(folder, { recursive: true, force: true }));

before(async () => {
  const prompt = new Prompt(environmentOf({}));
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, stdout } = await prompt.run(['completion', shell]);
    assert.equal(code, 0);
    writeFileSync(join(folder, shell), stdout);
  }
  const { code, stderr } = await prompt.run(['completion', 'csh']);
  assert.equal(code, 2);
  assert.match(stderr, /name the shell: completion bash\|zsh\|fish/);
  await prompt.close();
});

/** What a word of a line may be: the words that are offered. */
type Shell = { argv: (words: readonly string[]) => string[] };

const SHELLS: Record<string, Shell> = {
  bash: {
    argv: (words) => [
      '-c',
      `source ${join(folder, 'bash')}; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _postrider
       printf '%s\\n' "\${COMPREPLY[@]}"`,
      'bash',
      // As bash has the words of a line.
      ...words.flatMap((word) => (word === '' ? [''] : word.split(/(=)/).filter((part) => part !== ''))),
    ],
  },
  // Only the last step, which needs a line editor, is played: what would be shown is printed.
  zsh: {
    argv: (words) => [
      '-fc',
      `compdef() { : }; _files() { : }; compset() { : }; compadd() { shift; print -rl -- "$@" };
       _describe() { print -rl -- \${\${(P)2}%%:*} };
       source ${join(folder, 'zsh')}; words=("$@"); CURRENT=$#; _postrider`,
      'zsh',
      ...words,
    ],
  },
  fish: { argv: (words) => ['-N', '-c', `source ${join(folder, 'fish')}; complete -C '${words.join(' ')}'`] },
};

const CASES: [words: string, offered: readonly string[], notOffered: readonly string[]][] = [
  ['postrider de', ['destinations', 'deliveries', 'demo'], ['list']],
  ['postrider destinations ', ['list', 'create', 'recover'], ['destinations', 'revoke']],
  ['postrider destinations list --', ['--state', '--json', '--watch'], ['--forward-to', '--data']],
  ['postrider destinations list --state ', ['healthy', 'failing'], ['active', '--json']],
  ['postrider destinations list --state=', ['healthy', 'failing'], ['active', '--json']],
  ['postrider dlq replay --reason=g', ['gone'], ['--json']],
  ['postrider keys create --mode ', ['test', 'live'], ['read']],
  ['postrider keys create --scopes=pub', ['publish'], ['test']],
  ['postrider keys create --scopes read,pub', ['publish'], ['test']],
  ['postrider serve --log-level ', ['debug'], ['--json']],
  ['postrider listen --f', ['--forward-to'], ['--status']],
];

for (const [shell, { argv }] of Object.entries(SHELLS)) {
  test(`${shell} completes commands, flags and values`, async (t) => {
    const isThere = await run(shell, ['--version']).catch(() => null);
    if (isThere === null) return t.skip(`${shell} is not on this machine`);
    for (const [line, offered, notOffered] of CASES) {
      const { stdout, stderr } = await run(shell, argv(line.split(' ')), { env: { ...process.env, HOME: folder } });
      // Some offer the whole word: --flag=value, or a list with what is there already.
      const words = stdout.split('\n').map((one) => one.split('\t')[0]!.replace(/^.*[=,]/, ''));
      assert.equal(stderr, '', line);
      for (const word of offered) assert.ok(words.includes(word), `${line}: no ${word} in ${words.join(' ')}`);
      for (const word of notOffered) assert.ok(!words.includes(word), `${line}: ${word}`);
    }
  });
}
