// The lines that tell a user what to type next, such that they work as they stand.
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { programFolders } from '../config.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/postrider', import.meta.url));
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** `words`: what follows the program's name, quoted for a shell already. */
export function nextCommand(words: string): string {
  return `${programName()} ${words}`;
}

/** How to call this program: by its name where that leads here, else by its path. */
function programName(): string {
  if (isOnPath()) return 'postrider';
  return isInItsFolder() ? 'bin/postrider' : quote(PROGRAM);
}

/** Whether the user is in the project's own folder, as the guides are. */
export function isInItsFolder(): boolean {
  return join(process.cwd(), '/') === ROOT;
}

function isOnPath(): boolean {
  for (const folder of programFolders()) {
    const found = realPath(join(folder, 'postrider'));
    if (found !== null) return found === realPath(PROGRAM);
  }
  return false;
}

/** Null: there is none. */
function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

/** As one word of a POSIX shell; what needs no quotes gets none. */
export function quote(word: string): string {
  return /^[\w./:@-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
