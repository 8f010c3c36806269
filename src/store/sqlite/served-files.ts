// Whether the files that this process has open are still the ones of its data directory. One that was removed or
// replaced goes on working for whoever has it open, so a commit to it succeeds, and no restart will find it.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { StoreError } from '../store.ts';
import { SERVED_FILES } from './data-dir.ts';

export interface ServedFiles {
  /** What is wrong with them, without their path; null: nothing. */
  findTrouble(): string | null;
  /** Throws `unavailable` for any trouble. Takes about 4 µs a file. */
  assertInPlace(): void;
  /** Whether the database's own file is there, so that what is copied into it will be found. */
  hasDatabase(): boolean;
}

type Name = (typeof SERVED_FILES)[number];

/** Of those that are in `dataDir` now; null: the database is in memory. Nothing is opened: see server-lock.ts. */
export function watchServedFiles(dataDir: string | null): ServedFiles {
  if (dataDir === null) return { findTrouble: () => null, assertInPlace: () => {}, hasDatabase: () => true };
  const known = new Map(SERVED_FILES.map((name) => [name, identify(join(dataDir, name))]));

  const findTroubleOf = (name: Name): string | null => {
    const found = identify(join(dataDir, name));
    if (found === known.get(name)) return null;
    return found === null ? `${name} is gone` : `${name} is another file than the one that was opened`;
  };
  const findTrouble = (): string | null => {
    for (const name of SERVED_FILES) {
      const trouble = findTroubleOf(name);
      if (trouble !== null) return trouble;
    }
    return null;
  };
  return {
    findTrouble,
    assertInPlace() {
      const trouble = findTrouble();
      if (trouble !== null) throw new StoreError('unavailable', `${dataDir} was replaced or removed: ${trouble}`);
    },
    hasDatabase: () => findTroubleOf(SERVED_FILES[0]) === null,
  };
}

/** Of a file that is open the number is not given to another, so equal means the same file. Whole: 64 bits are used. */
function identify(path: string): string | null {
  try {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stats === undefined ? null : `${stats.dev} ${stats.ino}`;
  } catch {
    // The way there is gone: a volume that does not answer, a directory that is a file now.
    return null;
  }
}
