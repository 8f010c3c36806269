// Values of flags: as they are, from a file (@file), or from standard input (-); most of them JSON.
import { readFileSync } from 'node:fs';
import { JsonText } from '../../../sdk/typescript/src/json-text.ts';
import { UsageError } from '../../config.ts';
import type { CommandLine, Flag } from '../command.ts';
import { decode, readAll } from './standard-input.ts';

export const DATA_FLAG: Flag = {
  type: 'string',
  meaning: 'the body: JSON, @file, or - for standard input',
  value: 'JSON',
  default: '{}',
  param: 'body',
};

/** The text; null: the flag is not given. Throws UsageError. */
export async function valueOf(line: CommandLine, flag: string): Promise<string | null> {
  const given = line.textOf(flag);
  if (given === '-') return readAll(`--${flag}`);
  return given?.startsWith('@') ? readFile(flag, given.slice(1)) : given;
}

/** The text, which is JSON; null: the flag is not given. Throws UsageError. */
export async function jsonTextOf(line: CommandLine, flag: string): Promise<string | null> {
  const text = await valueOf(line, flag);
  if (text === null) return null;
  try {
    JSON.parse(text);
  } catch (error) {
    const advice = text === line.textOf(flag) ? '; in a shell put it between single quotes' : '';
    throw new UsageError(`--${flag}: not JSON: ${(error as Error).message}${advice}`);
  }
  return text;
}

/** An object as it was written: what is wrong in it is the service's to see. Throws UsageError. */
export async function jsonObjectOf(line: CommandLine, flag: string): Promise<JsonText | null> {
  const text = await jsonTextOf(line, flag);
  if (text === null) return null;
  const value: unknown = JSON.parse(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return new JsonText(text);
  throw new UsageError(`--${flag}: not a JSON object, which begins with { and ends with }`);
}

function readFile(flag: string, path: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw new UsageError(`--${flag}: cannot read the file: ${(error as Error).message}`);
  }
  return decode(`--${flag}`, bytes);
}
