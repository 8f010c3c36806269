// Whether the files that this process has open are still the ones of its data directory. One that was removed or
// replaced goes on working for whoever has it open, so a commit to it succeeds, and no restart will find it.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { StoreError } from '../../store.ts';
import { SERVED_FILES } from './data-dir.ts';

export type ServedFiles = ReturnType<typeof watchServedFiles>;

/** Of those that are in `dataDir` now. Nothing is opened: closing a file would take away this process's locks on it. */
export function watchServedFiles(dataDir: string) {
  const [database, log, index, lock] = SERVED_FILES.map((name) => watchFile(dataDir, name)) as [Find, Find, Find, Find];
  let isInTrouble = false;
  const findTrouble = (): string | null => {
    const trouble = database() ?? log() ?? index() ?? lock();
    isInTrouble = trouble !== null;
    return trouble;
  };
  const assertNone = (trouble: string | null): void => {
    if (trouble === null) return;
    isInTrouble = true;
    throw new StoreError('unavailable', `${dataDir} was replaced or removed: ${trouble}`);
  };
  // A look takes 4 µs a file, and every transaction waits for it. So it is at those that decide what the next start
  // finds; without the log's index or the lock nothing is lost within the second until all are looked at.
  return {
    /** Looks at all of them. What is wrong, without their path; null: nothing. */
    findTrouble,
    /** Throws `unavailable` where writing would be in vain. */
    assertBeforeWrite: () => assertNone(isInTrouble ? findTrouble() : log()),
    /** Throws `unavailable` unless the next start will find what was just committed. */
    assertAfterWrite: () => assertNone(database() ?? log()),
    /** Whether the database's own file is there, so that what is copied into it will be found. */
    hasDatabase: () => database() === null,
  };
}

/** What is wrong with one file now. */
type Find = () => string | null;

function watchFile(dataDir: string, name: string): Find {
  const path = join(dataDir, name);
  const opened = identify(path);
  return () => {
    const found = identify(path);
    if (found?.ino === opened?.ino && found?.dev === opened?.dev) return null;
    return found === null ? `${name} is gone` : `${name} is another file than the one that was opened`;
  };
}

/** Of a file that is open the number is not given to another, so equal means the same file. Whole: 64 bits are used. */
function identify(path: string): { dev: bigint; ino: bigint } | null {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false }) ?? null;
  } catch {
    // The way there is gone: a volume that does not answer, a directory that is a file now.
    return null;
  }
}
