// Where services are and which keys open them, under names: what `postrider login` remembers. One JSON file in the
// user's configuration folder that nobody else can read.
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configFolder, UsageError } from '../../config.ts';
import { CommandFailure } from '../command.ts';
import { nextCommand } from '../next-command.ts';
import { tell } from '../output.ts';

export type Profile = { url: string; key: string };

export const DEFAULT_PROFILE = 'default';
const NAME = /^[\w.-]{1,64}$/;

/** Throws UsageError at a name that cannot be one. */
export function checkProfileName(name: string): string {
  if (NAME.test(name)) return name;
  throw new UsageError(`--profile: "${name}" is no name; use up to 64 letters, digits, ".", "_" and "-"`);
}

export function profilesFile(): string {
  return join(configFolder(), 'profiles.json');
}

/** null: there is none of this name. Throws CommandFailure at a file that is none of ours. */
export function readProfile(name: string): Profile | null {
  return readProfiles().get(name) ?? null;
}

export function profileNames(): string[] {
  return [...readProfiles().keys()];
}

export function saveProfile(name: string, profile: Profile): void {
  writeProfiles(readProfiles().set(name, profile));
}

/** Whether there was one. */
export function removeProfile(name: string): boolean {
  const profiles = readProfiles();
  const wasThere = profiles.delete(name);
  if (wasThere) writeProfiles(profiles);
  return wasThere;
}

function readProfiles(): Map<string, Profile> {
  const file = profilesFile();
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
    warnIfShared(file);
  } catch (error) {
    // ENOTDIR: a home such as /dev/null.
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return new Map();
    throw new CommandFailure(`cannot read ${file}: ${(error as Error).message}`);
  }
  const profiles = parse(text);
  if (profiles === null) {
    throw new CommandFailure(`${file} is not what "${nextCommand('login')}" writes: remove it and log in again`);
  }
  return profiles;
}

function parse(text: string): Map<string, Profile> | null {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) return null;
  const entries = Object.entries(content);
  return entries.every(([, profile]) => isProfile(profile)) ? new Map(entries as [string, Profile][]) : null;
}

function isProfile(value: unknown): boolean {
  const { url, key } = (value ?? {}) as Partial<Record<keyof Profile, unknown>>;
  return typeof url === 'string' && typeof key === 'string';
}

function warnIfShared(file: string): void {
  if (process.platform === 'win32' || (statSync(file).mode & 0o077) === 0) return;
  tell(`postrider: others on this machine can read the keys in ${file}: chmod 600 ${file}`);
}

/** Written beside it and renamed: a full disk or a crash leaves the old file whole. */
function writeProfiles(profiles: Map<string, Profile>): void {
  const file = profilesFile();
  const written = `${file}.${process.pid}`;
  try {
    mkdirSync(configFolder(), { recursive: true, mode: 0o700 });
    writeFileSync(written, `${JSON.stringify(Object.fromEntries(profiles), null, 2)}\n`, { mode: 0o600 });
    // Where a file of this name was left behind, its mode was another.
    chmodSync(written, 0o600);
    renameSync(written, file);
  } catch (error) {
    rmSync(written, { force: true });
    throw new CommandFailure(`cannot write ${file}: ${(error as Error).message}`);
  }
}
