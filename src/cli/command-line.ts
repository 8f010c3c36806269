// The command line: which command, its help, and what a failure looks like.
import { closestName, UsageError } from '../config.ts';
import { keepProcessAlive } from '../runtime/clock.ts';
import { StoreError } from '../store/store.ts';
import { backupCommand } from './backup.ts';
import { copyCommand } from './copy.ts';
import { parseCommandLine } from './command.ts';
import type { Command, CommandGroup } from './command.ts';
import { demoCommand } from './demo.ts';
import { commandHelp, groupHelp, programHelp } from './help.ts';
import { keysCommands } from './keys.ts';
import { migrateCommand } from './migrate.ts';
import { OutputError, print, tell } from './output.ts';
import { receiveCommand } from './receive.ts';
import { relayCommand } from './relay.ts';
import { serveCommand } from './serve.ts';
import { versionCommand } from './version.ts';

const COMMANDS: readonly (Command | CommandGroup)[] = [
  serveCommand,
  keysCommands,
  demoCommand,
  receiveCommand,
  relayCommand,
  migrateCommand,
  backupCommand,
  copyCommand,
  versionCommand,
];

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

/** Resolves with the exit code; never rejects. */
export async function runCommandLine(argv: readonly string[]): Promise<number> {
  const [first, ...rest] = argv;
  // `postrider help keys create` is `postrider keys create --help`.
  const asked = first === 'help' ? [...rest, '--help'] : first === '--version' ? ['version', ...rest] : argv;
  const { found, words } = findCommand(asked);
  const given = asked.slice(words);
  // Between two tries to reach a database that is away, or two processes of a group, nothing else would.
  const letGo = keepProcessAlive();
  try {
    if (asksForHelp(given)) return await showHelp(found, given);
    if (found !== null && 'run' in found) return await found.run(parseCommandLine(found, given));
    throw new UsageError(found === null ? unknownCommand(given[0]) : unknownInGroup(found, given[0]));
  } catch (error) {
    return explainFailure(found, error);
  } finally {
    letGo();
  }
}

type Found = Command | CommandGroup | null;

/** `words`: how many of the arguments name it. */
function findCommand(argv: readonly string[]): { found: Found; words: number } {
  const found = COMMANDS.find(({ name }) => name === argv[0]);
  if (found === undefined) return { found: null, words: 0 };
  const inside = 'commands' in found ? found.commands.find(({ name }) => name === `${argv[0]} ${argv[1]}`) : undefined;
  return inside === undefined ? { found, words: 1 } : { found: inside, words: 2 };
}

function asksForHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  const flags = end === -1 ? argv : argv.slice(0, end);
  return flags.includes('--help') || flags.includes('-h');
}

async function showHelp(found: Found, given: readonly string[]): Promise<number> {
  const [word] = given;
  // A slip in the name: the help of something else would not say so.
  if (word !== undefined && !word.startsWith('-')) {
    if (found === null) throw new UsageError(unknownCommand(word));
    if ('commands' in found) throw new UsageError(unknownInGroup(found, word));
  }
  await print(found === null ? programHelp(COMMANDS) : 'run' in found ? commandHelp(found) : groupHelp(found));
  return 0;
}

function unknownCommand(given: string | undefined): string {
  if (given === undefined) return `name a command: ${COMMANDS.map(({ name }) => name).join(', ')}`;
  return unknown(given, COMMANDS);
}

function unknownInGroup({ name, commands }: CommandGroup, given: string | undefined): string {
  const usages = commands.flatMap(({ usage }) => usage).map((usage) => usage.split(' [')[0]!);
  if (given === undefined) return `say what to do: ${usages.join(', ')}`;
  return unknown(`${name} ${given}`, commands);
}

function unknown(given: string, candidates: readonly { name: string }[]): string {
  if (given.startsWith('-')) return `unknown flag ${given}`;
  const suggestion = closestName(
    given,
    candidates.map(({ name }) => name),
  );
  return `there is no command "${given}"${suggestion === null ? '' : `; did you mean postrider ${suggestion}?`}`;
}

function explainFailure(found: Found, error: unknown): number {
  if (error instanceof UsageError) {
    const name = found === null ? '' : `${found.name} `;
    return complain(`${error.message}\nSee: postrider ${name}--help`, EXIT_USAGE);
  }
  if (error instanceof OutputError) return error.isUnread ? EXIT_FAILED : complain(error.message, EXIT_FAILED);
  if (error instanceof StoreError) {
    const advice = error.code === 'missing' && found !== null && 'run' in found ? found.whereMissing : undefined;
    return complain(advice === undefined ? error.message : `${error.message}. ${advice}`, EXIT_FAILED);
  }
  return complain(error instanceof Error ? (error.stack ?? error.message) : String(error), EXIT_FAILED);
}

function complain(text: string, exitCode: number): number {
  tell(`postrider: ${text}`);
  return exitCode;
}
