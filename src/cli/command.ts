// What a command of the program is, and how its flags are read.
import { parseArgs } from 'node:util';
import { closestName, flagOf, loadSettings, SETTINGS, UsageError } from '../config.ts';
import type { LoadedSettings, SettingName } from '../config.ts';

export type Flag = {
  type: 'string' | 'boolean';
  meaning: string;
  /** What help calls the value of a flag that takes one. */
  value?: string;
  /** The values that it takes. */
  unit?: string;
  default?: string;
};

export type Command = {
  /** One word, or two: its group's and its own. */
  name: string;
  summary: string;
  /** One line for each form. */
  usage: readonly string[];
  /** Settings that can be given as flags. */
  settings: readonly SettingName[];
  flags: Readonly<Record<string, Flag>>;
  /** What may follow the command's name. */
  words: readonly string[];
  /** What to do where there is no store. */
  whereMissing?: string;
  /** Resolves with the exit code. */
  run(line: CommandLine): Promise<number>;
};

/** Commands that share their first word. */
export type CommandGroup = { name: string; summary: string; commands: readonly Command[] };

export type CommandLine = {
  words: readonly string[];
  /** The text of a flag that takes one. */
  textOf(flag: string): string | null;
  has(flag: string): boolean;
  /** Read only where needed: a receiver must start whatever the service's settings are. */
  settings(): LoadedSettings;
};

const CONFIG_FLAG = { type: 'string', meaning: 'settings file: one JSON object', value: 'FILE' } as const;
export const JSON_FLAG: Flag = { type: 'boolean', meaning: 'print one line of JSON' };

export function parseCommandLine(command: Command, argv: readonly string[]): CommandLine {
  const { values, words } = readArguments(flagsOf(command), argv);
  if (words.length > command.words.length) throw new UsageError(`unexpected argument: ${words[command.words.length]}`);
  const textOf = (flag: string): string | null => {
    const value = values.get(flag);
    return typeof value === 'string' ? value : null;
  };
  return {
    words,
    textOf,
    has: (flag) => values.get(flag) === true,
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
    { type: 'string', ...SETTINGS[name] },
  ]);
  return {
    ...command.flags,
    ...Object.fromEntries(settings),
    ...(command.settings.length > 0 ? { config: CONFIG_FLAG } : {}),
    help: { type: 'boolean', meaning: 'print this; -h too' },
  };
}

type Arguments = { values: Map<string, string | true>; words: string[] };

/** Of a flag that is given twice the last one counts. Throws UsageError, which names the flag. */
function readArguments(flags: Record<string, Flag>, argv: readonly string[]): Arguments {
  const options = Object.fromEntries(Object.entries(flags).map(([name, { type }]) => [name, { type }]));
  // Not `strict`, whose messages are about parseArgs.
  const { tokens } = parseArgs({ args: [...argv], options, allowPositionals: true, strict: false, tokens: true });
  const read: Arguments = { values: new Map(), words: [] };
  for (const token of tokens) {
    if (token.kind === 'positional') read.words.push(token.value);
    else if (token.kind === 'option') {
      const flag = Object.hasOwn(flags, token.name) ? flags[token.name] : undefined;
      if (flag === undefined) throw new UsageError(unknownFlag(token.rawName, Object.keys(flags)));
      read.values.set(token.name, valueOf(flag, token));
    }
  }
  return read;
}

type GivenFlag = { rawName: string; value: string | undefined; inlineValue: boolean | undefined };

function valueOf({ type, value: shown }: Flag, { rawName, value, inlineValue }: GivenFlag): string | true {
  if (type === 'boolean') {
    if (value !== undefined) throw new UsageError(`${rawName} takes no value`);
    return true;
  }
  // What begins with a dash is rather the next flag of somebody who forgot the value.
  if (value === undefined || (inlineValue === false && value.startsWith('-'))) {
    throw new UsageError(`${rawName} takes a value: ${rawName} ${shown}`);
  }
  return value;
}

function unknownFlag(given: string, known: string[]): string {
  const suggestion = closestName(given.replace(/^-+/, ''), known);
  return suggestion === null ? `unknown flag ${given}` : `unknown flag ${given}; did you mean --${suggestion}?`;
}
