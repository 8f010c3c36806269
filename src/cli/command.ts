// What a command of the program is, and how its flags are read.
import { parseArgs } from 'node:util';
import { closestName, flagOf, loadSettings, SETTINGS, UsageError } from '../config.ts';
import type { LoadedSettings, SettingName } from '../config.ts';

export type Flag = { type: 'string' | 'boolean'; meaning: string; value?: string };

export type Command = {
  name: string;
  summary: string;
  /** One line for each form. */
  usage: readonly string[];
  /** Settings that can be given as flags. */
  settings: readonly SettingName[];
  flags: Readonly<Record<string, Flag>>;
  /** How many words may follow the command's name. */
  wordsMax: number;
  /** Resolves with the exit code. */
  run(line: CommandLine): Promise<number>;
};

export type CommandLine = {
  words: readonly string[];
  /** The text of a flag that takes one. */
  textOf(flag: string): string | null;
  has(flag: string): boolean;
  /** Read only where needed: a receiver must start whatever the service's settings are. */
  settings(): LoadedSettings;
};

const CONFIG_FLAG = { type: 'string', meaning: 'settings file: one JSON object', value: 'FILE' } as const;
export const JSON_FLAG: Flag = { type: 'boolean', meaning: 'print JSON' };

export function parseCommandLine(command: Command, argv: readonly string[]): CommandLine {
  const known = flagsOf(command);
  const options = Object.fromEntries(Object.entries(known).map(([name, { type }]) => [name, { type }]));
  const { values, positionals } = parseStrictly(argv, options, Object.keys(known));
  if (positionals.length > command.wordsMax)
    throw new UsageError(`unexpected argument: ${positionals[command.wordsMax]}`);
  const textOf = (flag: string): string | null => {
    const value = values[flag];
    return typeof value === 'string' ? value : null;
  };
  return {
    words: positionals,
    textOf,
    has: (flag) => values[flag] === true,
    settings() {
      const given: Partial<Record<SettingName, string>> = {};
      for (const name of command.settings) {
        const value = textOf(flagOf(name).slice(2));
        if (value !== null) given[name] = value;
      }
      return loadSettings(given, textOf('config'));
    },
  };
}

/** Every flag of a command by name: its own, its settings', and those that all have. */
export function flagsOf(command: Command): Record<string, Flag> {
  const settings = command.settings.map((name): [string, Flag] => [
    flagOf(name).slice(2),
    { type: 'string', meaning: SETTINGS[name].meaning, value: name },
  ]);
  return {
    ...command.flags,
    ...Object.fromEntries(settings),
    ...(command.settings.length > 0 ? { config: CONFIG_FLAG } : {}),
    help: { type: 'boolean', meaning: 'print this' },
  };
}

function parseStrictly(
  argv: readonly string[],
  options: Record<string, { type: 'string' | 'boolean' }>,
  known: string[],
) {
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true, strict: true });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const flag = argv.find((arg) => arg.startsWith('--') && !known.includes(arg.slice(2).split('=')[0]!));
    const suggestion = flag === undefined ? null : closestName(flag.slice(2).split('=')[0]!, known);
    throw new UsageError(suggestion === null ? error.message : `unknown flag ${flag}; did you mean --${suggestion}?`);
  }
}
