// The command line: which command, its help, and what a failure looks like.
import { closestName, UsageError } from '../config.ts';
import { keepProcessAlive } from '../runtime/clock.ts';
import { StoreError } from '../store/store.ts';
import { CommandFailure, parseCommandLine, type Command, type CommandEntry, type GroupEntry } from './command.ts';
import { ENTRIES } from './commands.ts';
import { OutputError, print, tell } from './output.ts';
import { nextCommand } from './next-command.ts';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

/** Resolves with the exit code; never rejects. */
export async function runCommandLine(argv: readonly string[]): Promise<number> {
  const [first, ...rest] = argv;
  // `postrider help keys create` is `postrider keys create --help`.
  const asked = first === 'help' ? [...rest, '--help'] : first === '--version' ? ['version', ...rest] : argv;
  const { found, words } = findEntry(asked);
  const given = asked.slice(words);
  let command: Command | null = null;
  // Between two tries to reach a database that is away, or two processes of a group, nothing else would.
  const letGo = keepProcessAlive();
  try {
    if (asksForHelp(given)) return await showHelp(found, given);
    if (found === null || !('load' in found)) throw new UsageError(await explainName(found, given[0]));
    command = await found.load();
    return (await command.run(parseCommandLine(command, given))) ?? 0;
  } catch (error) {
    return explainFailure({ found, command }, error);
  } finally {
    letGo();
  }
}

type Found = CommandEntry | GroupEntry | null;

/** `words`: how many of the arguments name it. */
function findEntry(argv: readonly string[]): { found: Found; words: number } {
  const found = ENTRIES.find(({ name }) => name === argv[0]);
  if (found === undefined) return { found: null, words: 0 };
  const inside = 'load' in found ? undefined : found.commands.find(({ name }) => name === `${argv[0]} ${argv[1]}`);
  return inside === undefined ? { found, words: 1 } : { found: inside, words: 2 };
}

function asksForHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  const flags = end === -1 ? argv : argv.slice(0, end);
  return flags.includes('--help') || flags.includes('-h');
}

async function showHelp(found: Found, given: readonly string[]): Promise<number> {
  const [word] = given;
  const isCommand = found !== null && 'load' in found;
  // A slip in the name: the help of something else would not say so.
  if (!isCommand && word !== undefined && !word.startsWith('-')) throw new UsageError(await explainName(found, word));
  const { commandHelp, groupHelp, programHelp } = await import('./help.ts');
  if (found === null) await print(await programHelp());
  else await print('load' in found ? commandHelp(await found.load()) : await groupHelp(found));
  return 0;
}

/** What is wrong with the word where a command's name belongs. */
async function explainName(group: GroupEntry | null, given: string | undefined): Promise<string> {
  if (group === null) {
    if (given === undefined) return `name a command: ${ENTRIES.map(({ name }) => name).join(', ')}`;
    return unknown(given, ENTRIES);
  }
  if (given !== undefined) return unknown(`${group.name} ${given}`, group.commands);
  const commands = await Promise.all(group.commands.map(({ load }) => load()));
  const usages = commands.flatMap(({ usage }) => usage).map((usage) => usage.split(' [')[0]!);
  // Of two forms of which one only has more flags the shorter says it.
  const shortest = usages.filter((usage) => !usages.some((other) => usage.startsWith(`${other} `)));
  return `say what to do: ${shortest.join(', ')}`;
}

function unknown(given: string, candidates: readonly { name: string }[]): string {
  if (given.startsWith('-')) return `unknown flag ${given}`;
  const suggestion = closestName(
    given,
    candidates.map(({ name }) => name),
  );
  return `there is no command "${given}"${suggestion === null ? '' : `; did you mean ${nextCommand(suggestion)}?`}`;
}

function explainFailure({ found, command }: { found: Found; command: Command | null }, error: unknown): number {
  if (error instanceof UsageError || (error instanceof StoreError && error.code === 'wrong_setting')) {
    const name = found === null ? '' : `${found.name} `;
    return complain(`${error.message}\nSee: ${nextCommand(`${name}--help`)}`, EXIT_USAGE);
  }
  if (error instanceof OutputError) return error.isUnread ? EXIT_FAILED : complain(error.message, EXIT_FAILED);
  if (error instanceof CommandFailure) return complain(error.message, EXIT_FAILED);
  if (error instanceof StoreError) {
    const advice = error.code === 'missing' ? command?.whereMissing : undefined;
    return complain(advice === undefined ? error.message : `${error.message}. ${advice}`, EXIT_FAILED);
  }
  return complain(error instanceof Error ? (error.stack ?? error.message) : String(error), EXIT_FAILED);
}

function complain(text: string, exitCode: number): number {
  tell(`postrider: ${text}`);
  return exitCode;
}
