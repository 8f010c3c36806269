// Files that must be whole whenever they are there: filled and on disk under another name before they get their own.
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf } from '../errors.ts';

/** Makes a file for its owner alone, on disk when it returns. Fails where there is one. */
export function writeNewFile(path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Gives a complete file its name, unless something has it already; then that stays. The draft is gone either way. */
export function publishFile(draft: string, path: string): void {
  try {
    linkSync(draft, path);
  } catch (error) {
    // A file system without hard links: nothing there keeps two first starts apart, but they are rare.
    if (errnoOf(error) !== 'EEXIST') renameSync(draft, path);
  }
  rmSync(draft, { force: true });
  syncPath(dirname(path));
}

/** A file, or a directory with the names in it. */
export function syncPath(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
