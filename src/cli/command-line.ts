// The command line: which command, its help, and what a failure looks like.
import { closestName, UsageError, VERSION } from '../config.ts';
import { keepProcessAlive } from '../runtime/clock.ts';
import { StoreError } from '../store/store.ts';
import { backupCommand } from './backup.ts';
import { copyCommand } from './copy.ts';
import { flagsOf, parseCommandLine } from './command.ts';
import type { Command } from './command.ts';
import { demoCommand } from './demo.ts';
import { keysCommand } from './keys.ts';
import { migrateCommand } from './migrate.ts';
import { receiveCommand } from './receive.ts';
import { serveCommand } from './serve.ts';

const COMMANDS: readonly Command[] = [
  serveCommand,
  keysCommand,
  demoCommand,
  receiveCommand,
  migrateCommand,
  backupCommand,
  copyCommand,
];

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

/** Resolves with the exit code; never rejects. */
export async function runCommandLine(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv;
  if (name === '--version') return print(VERSION);
  if (name === undefined || name === '--help' || name === 'help')
    return print(programHelp(), name === undefined ? EXIT_USAGE : 0);
  const command = COMMANDS.find((candidate) => candidate.name === name);
  if (command === undefined) return complain(unknownCommand(name), EXIT_USAGE);
  // Between two tries to reach a database that is away, or two processes of a group, nothing else would.
  const letGo = keepProcessAlive();
  try {
    if (rest.includes('--help')) return print(commandHelp(command));
    return await command.run(parseCommandLine(command, rest));
  } catch (error) {
    return explainFailure(command, error);
  } finally {
    letGo();
  }
}

function explainFailure(command: Command, error: unknown): number {
  if (error instanceof UsageError) {
    return complain(`${error.message}\nSee: postrider ${command.name} --help`, EXIT_USAGE);
  }
  if (error instanceof StoreError) return complain(error.message, EXIT_FAILED);
  return complain(error instanceof Error ? (error.stack ?? error.message) : String(error), EXIT_FAILED);
}

function programHelp(): string {
  const width = Math.max(...COMMANDS.map(({ name }) => name.length));
  return [
    'Postrider: webhook delivery. Accepts events, matches them to subscriptions, delivers them signed and retried.',
    '',
    'Usage: postrider COMMAND [flags]',
    '',
    ...COMMANDS.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    '',
    'postrider COMMAND --help tells more; postrider --version prints the version.',
  ].join('\n');
}

function commandHelp(command: Command): string {
  const flags = Object.entries(flagsOf(command)).map(([name, flag]) => ({
    left: flag.type === 'string' ? `--${name} ${flag.value ?? 'VALUE'}` : `--${name}`,
    meaning: flag.meaning,
  }));
  const width = Math.max(...flags.map(({ left }) => left.length));
  return [
    `${command.summary}.`,
    '',
    ...command.usage.map((usage, i) => `${i === 0 ? 'Usage: ' : '       '}postrider ${usage}`),
    '',
    ...flags.map(({ left, meaning }) => `  ${left.padEnd(width)}  ${meaning}`),
  ].join('\n');
}

function unknownCommand(name: string): string {
  const suggestion = closestName(
    name,
    COMMANDS.map((command) => command.name),
  );
  const hint = suggestion === null ? 'See: postrider --help' : `Did you mean postrider ${suggestion}?`;
  return `there is no command "${name}". ${hint}`;
}

function print(text: string, exitCode = 0): number {
  process.stdout.write(`${text}\n`);
  return exitCode;
}

function complain(text: string, exitCode: number): number {
  process.stderr.write(`postrider: ${text}\n`);
  return exitCode;
}
