// What a command of the program is, and how its flags are read.
import { parseArgs } from 'node:util';
import {
  closestName,
  flagOf,
  loadSettings,
  SETTINGS,
  UsageError,
  type LoadedSettings,
  type SettingName,
} from '../config.ts';

export type Flag = {
  type: 'string' | 'boolean';
  meaning: string;
  /** What help calls the value of a flag that takes one. */
  value?: string;
  /** The values that it takes, for people. */
  unit?: string;
  /** All that it takes; anything else is refused. */
  options?: readonly string[];
  /** It takes several of them, comma-separated. */
  isList?: boolean;
  default?: string;
  /** The parameter of the API that it gives, where that has another name: errors of the service name it. */
  param?: string;
};

export type Command = {
  /** One word, or two: its group's and its own. */
  name: string;
  summary: string;
  /** One line for each form. */
  usage: readonly string[];
  /** Lines as somebody would type them, after the program's name. */
  examples: readonly string[];
  /** Settings that can be given as flags. */
  settings?: readonly SettingName[];
  flags?: Readonly<Record<string, Flag>>;
  /** What may follow the command's name. */
  words?: readonly string[];
  /** What to do where there is no store. */
  whereMissing?: string;
  /** Resolves with the exit code, or with nothing: 0. */
  run(line: CommandLine): Promise<number | void>;
};

/** How a command is found: it is loaded when it is asked for. */
export type CommandEntry = { name: string; load: () => Promise<Command> };

/** Commands that share their first word. */
export type GroupEntry = { name: string; summary: string; commands: readonly CommandEntry[] };

export type Section = { title: string; entries: readonly (CommandEntry | GroupEntry)[] };

/** What a command can say of itself when it fails: exit code 1, and no stack. */
export class CommandFailure extends Error {}

export type CommandLine = {
  words: readonly string[];
  /** The text of a flag that takes one; of a flag that is given twice the last. */
  textOf(flag: string): string | null;
  /** Of every time that it was given. */
  textsOf(flag: string): readonly string[];
  has(flag: string): boolean;
  /** Read only where needed: a receiver must start whatever the service's settings are. */
  settings(): LoadedSettings;
};

const CONFIG_FLAG = { type: 'string', meaning: 'settings file: one JSON object', value: 'FILE' } as const;
export const JSON_FLAG: Flag = { type: 'boolean', meaning: 'print one line of JSON' };

export function parseCommandLine(command: Command, argv: readonly string[]): CommandLine {
  const { values, words } = readArguments(flagsOf(command), argv);
  const superfluous = words[command.words?.length ?? 0];
  if (superfluous !== undefined) throw new UsageError(`unexpected argument: ${superfluous}`);
  const textsOf = (flag: string): string[] => (values.get(flag) ?? []).filter((value) => typeof value === 'string');
  const textOf = (flag: string): string | null => textsOf(flag).at(-1) ?? null;
  return {
    words,
    textOf,
    textsOf,
    has: (flag) => values.get(flag)?.at(-1) === true,
    settings() {
      const given: Partial<Record<SettingName, string>> = {};
      for (const name of command.settings ?? []) {
        const value = textOf(flagOf(name).slice(2));
        if (value !== null) given[name] = value;
      }
      return loadSettings(given, textOf('config'));
    },
  };
}

/** Every flag of a command by name: its own, its settings', and those that all have. */
export function flagsOf({ flags, settings = [] }: Command): Record<string, Flag> {
  const ofSettings = settings.map((name): [string, Flag] => [
    flagOf(name).slice(2),
    { type: 'string', ...SETTINGS[name] },
  ]);
  return {
    ...flags,
    ...Object.fromEntries(ofSettings),
    ...(settings.length > 0 ? { config: CONFIG_FLAG } : {}),
    help: { type: 'boolean', meaning: 'print this; -h too' },
  };
}

/** The members that are given: null stands for a flag that is not. */
export function whereGiven<Members extends object>(members: Members) {
  const entries = Object.entries(members).filter(([, value]) => value !== null);
  return Object.fromEntries(entries) as { [Name in keyof Members]?: NonNullable<Members[Name]> };
}

type Range = { min: number; max: number; fallback: number };

/** A flag that takes a whole number of this range. */
export function integerFlag(meaning: string, { min, max, fallback }: Range): Flag {
  return { type: 'string', meaning, value: 'N', unit: `${min}-${max}`, default: String(fallback) };
}

/** The whole number that such a flag gives. Throws UsageError. */
export function integerOf(line: CommandLine, flag: string, { min, max, fallback }: Range): number {
  const text = line.textOf(flag);
  if (text === null) return fallback;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new UsageError(`--${flag}: "${text}" is not a whole number from ${min} to ${max}`);
}

/** The address of a database that a flag gives; null: it gives none. Throws UsageError. */
export function databaseUrlOf(line: CommandLine, flag: string): string | null {
  try {
    return SETTINGS.DATABASE_URL.parse(line.textOf(flag) ?? '');
  } catch (error) {
    throw new UsageError(`--${flag}: ${(error as Error).message}`);
  }
}

/** A word that must be there: `what` is its name in the usage. Throws UsageError. */
export function requireWord(line: CommandLine, index: number, { what, example }: { what: string; example: string }) {
  const word = line.words[index];
  if (word !== undefined && word !== '') return word;
  throw new UsageError(`${what} is missing: ${example}`);
}

type Arguments = { values: Map<string, (string | true)[]>; words: string[] };

/** Throws UsageError, which names the flag. */
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
      const value = valueOf(flag, token);
      read.values.set(token.name, [...(read.values.get(token.name) ?? []), value]);
    }
  }
  return read;
}

type GivenFlag = { rawName: string; value: string | undefined; inlineValue: boolean | undefined };

function valueOf({ type, value: shown, options, isList = false }: Flag, given: GivenFlag): string | true {
  const { rawName, value, inlineValue } = given;
  if (type === 'boolean') {
    if (value !== undefined) throw new UsageError(`${rawName} takes no value`);
    return true;
  }
  // What begins with a dash is rather the next flag of somebody who forgot the value; a dash alone is standard input.
  if (value === undefined || (inlineValue === false && value.startsWith('-') && value !== '-')) {
    throw new UsageError(`${rawName} takes a value: ${rawName} ${shown}`);
  }
  const parts = isList ? partsOf(value) : [value];
  const wrong = options === undefined ? undefined : parts.find((part) => !options.includes(part));
  if (wrong !== undefined) throw new UsageError(`${rawName}: "${wrong}" is not one of ${options!.join(', ')}`);
  return value;
}

/** The parts of a list that a flag gives. */
export function partsOf(value: string): string[] {
  return value.split(',').map((part) => part.trim());
}

function unknownFlag(given: string, known: string[]): string {
  const suggestion = closestName(given.replace(/^-+/, ''), known);
  return suggestion === null ? `unknown flag ${given}` : `unknown flag ${given}; did you mean --${suggestion}?`;
}
