// A disk so small that a test can fill it, on a machine that lets us mount one.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Scope } from './service.ts';

export type SmallDisk = {
  path: string;
  /** At the scope's end, before the disk goes. */
  endFirst: (end: () => Promise<void>) => void;
  /** Leaves this much; 0: not a byte. */
  fillTo: (bytes: number) => Promise<void>;
  makeRoom: () => Promise<void>;
};

/** A disk of its own, gone at the scope's end; or the reason why there is none. */
export function mountDisk(scope: Scope, megabytes: number): SmallDisk | string {
  if (process.getuid?.() !== 0) return 'only root can mount a disk';
  const path = mkdtempSync(join(tmpdir(), 'postrider-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path], { stdio: 'pipe' });
  } catch (error) {
    rmSync(path, { recursive: true });
    return `no disk can be mounted here: ${(error as Error).message}`;
  }
  const unmount = (): void => {
    execFileSync('umount', ['-l', path], { stdio: 'pipe' });
    rmSync(path, { recursive: true });
  };
  process.once('exit', unmount);
  let first: () => Promise<void> = () => Promise.resolve();
  scope.after(async () => {
    await first();
    process.off('exit', unmount);
    unmount();
  });
  const filler = join(path, 'filler');
  return {
    path,
    endFirst: (end) => void (first = end),
    async fillTo(bytes) {
      const file = await open(filler, 'w');
      const { bavail, bsize } = statfsSync(path);
      const chunk = Buffer.alloc(bsize);
      try {
        for (let left = bavail * bsize; left > bytes || bytes === 0; left -= bsize) await file.write(chunk);
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
      } finally {
        await file.close();
      }
    },
    makeRoom: () => rm(filler),
  };
}
