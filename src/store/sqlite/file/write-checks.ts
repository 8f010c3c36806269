// What is asked before something is written: are the files the served ones, and is there room on the disk.

// Whether the files that this process has open are still the ones of its data directory. One that was removed or
// replaced goes on working for whoever has it open, so a commit to it succeeds, and no restart will find it.
import { closeSync, openSync, readlinkSync, statSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../../runtime/clock.ts';
import { StoreError } from '../../store.ts';
import { SERVED_FILES, WRITE_AHEAD_LOG } from './data-dir.ts';
import { PAGE_BYTES, readNumber, type Database } from './database.ts';

export type ServedFiles = ReturnType<typeof watchServedFiles>;

/**
 * Of those that are in `dataDir` now. Only the log is opened, on which nobody has locks: closing one of the others
 * would take away this process's locks on it.
 */
export function watchServedFiles(dataDir: string) {
  const [database, log, index, lock] = SERVED_FILES.map((name) => watchFile(dataDir, name)) as [Find, Find, Find, Find];
  const logName = watchName(join(dataDir, WRITE_AHEAD_LOG));
  // A link to the directory that leads elsewhere now changes what is at the database's path, not the open log's name.
  const findLoss: Find = () => database() ?? (logName.isUnchanged() ? null : log());
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
  // Every transaction waits for these looks. So they are at the files that decide what the next start finds; without
  // the log's index or the lock nothing is lost within the second until all are looked at.
  return {
    /** Looks at all of them. What is wrong, without their path; null: nothing. */
    findTrouble,
    /** Throws `unavailable` where writing would be in vain. */
    assertBeforeWrite: () => assertNone(isInTrouble ? findTrouble() : findLoss()),
    /** Throws `unavailable` unless the next start will find what was just committed. */
    assertAfterWrite: () => assertNone(findLoss()),
    /** Whether the database's own file is there, so that what is copied into it will be found. */
    hasDatabase: () => database() === null,
    close: logName.close,
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

/**
 * For a file that is written and synced all the time: whether it still has the name under which it was opened. Where
 * /proc does not tell, the answer is no, and `stat` is asked. That asks for the time of the last write as well, after
 * which Linux (6.13 and newer) gives the next write an exact time of its own, and each fsync writes the inode too.
 */
function watchName(path: string): { isUnchanged: () => boolean; close: () => void } {
  const file = openIfThere(path);
  // The name of a file that was removed ends in " (deleted)".
  const read = (): string | null => (file === null ? null : readLink(`/proc/self/fd/${file}`));
  const opened = read();
  return {
    isUnchanged: () => opened !== null && read() === opened,
    close: () => {
      if (file !== null) closeSync(file);
    },
  };
}

function openIfThere(path: string): number | null {
  try {
    return openSync(path, 'r');
  } catch {
    return null;
  }
}

function readLink(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
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

// Keeps the last of the disk for results: what would only add work is refused before the disk is really full.

export type DiskReserve = ReturnType<typeof createDiskReserve>;

const LOOK_INTERVAL_MS = 100;
/** With less than this free an I/O error is put down to the full disk. */
const FULL_BELOW_BYTES = 1024 * 1024;

export function createDiskReserve(options: { db: Database; dataDir: string; reserveBytes: number; clock: Clock }) {
  const { db, dataDir, reserveBytes, clock } = options;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let hasRoom = true;

  const reusableBytes = (): number => readNumber(db, 'PRAGMA freelist_count') * PAGE_BYTES;

  return {
    /** Throws `disk_full` when less than the reserve is free. Looks at the disk at most every 100 ms. */
    assertRoom(): void {
      if (clock.monotonic() - lookedAt >= LOOK_INTERVAL_MS) {
        lookedAt = clock.monotonic();
        const free = readFreeBytes(dataDir);
        hasRoom = free === null || free >= reserveBytes || free + reusableBytes() >= reserveBytes;
      }
      if (!hasRoom) throw new StoreError('disk_full', fullMessage(dataDir, reserveBytes));
    },
    /** Room on the disk and in the file's own free pages; null where that cannot be told. */
    freeBytes(): number | null {
      const free = readFreeBytes(dataDir);
      return free === null ? null : free + reusableBytes();
    },
    /** Whether a write that failed may have failed for want of room. */
    isDiskFull: (): boolean => isDiskFull(dataDir),
  };
}

/** Of the disk that a path is on. */
export function isDiskFull(path: string): boolean {
  const free = readFreeBytes(path);
  return free !== null && free < FULL_BELOW_BYTES;
}

/** null: the path is gone. What is wrong then is found by whoever writes. */
function readFreeBytes(path: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  } catch {
    return null;
  }
}

function fullMessage(dataDir: string, reserveBytes: number): string {
  const reserve = `${Math.ceil(reserveBytes / 2 ** 20)} MiB`;
  return `less than ${reserve} are free for ${dataDir}: free some space; accepting resumes by itself`;
}
