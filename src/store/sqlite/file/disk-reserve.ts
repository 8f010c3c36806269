// Keeps the last of the disk for results: what would only add work is refused before the disk is really full.
import { statfsSync } from 'node:fs';
import type { Clock } from '../../../runtime/clock.ts';
import { StoreError } from '../../store.ts';
import { PAGE_BYTES, readNumber } from './database.ts';
import type { Database } from './database.ts';

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
