// A node that is killed and started again on its machine need not wait for its own lease. Each process that is a node
// of a shared store holds the lock of a file of its own for life; whoever gets that lock knows that the process has
// ended, for the operating system frees it then and not before, however it ends.
//
// The lock proves nothing if the file is a copy: of a disk, in an image of this machine, in a container made from
// another. So a file's name says where it was made, the kernel's boot and the file's own number there, and what
// does not agree is no proof. Without one the lease is waited for, as for a node on another machine.
import { hash } from 'node:crypto';
import { lstatSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isId, type NodeId } from '../model/id.ts';

/** Linux alone tells one boot of a machine from all others. */
const BOOT_ID = '/proc/sys/kernel/random/boot_id';

type LifeFile = {
  /** Nodes of the same database whose processes have ended on this machine without a farewell. */
  ended: NodeId[];
  /** After this node has left the others. */
  close(): void;
};

type Options = {
  node: NodeId;
  databaseUrl: string;
  /** Made if it is missing; used if it is this user's alone. */
  folder: string;
};

/** Null: this process can prove nothing here, now or when it has ended. */
export async function holdLifeFile({ node, databaseUrl, folder }: Options): Promise<LifeFile | null> {
  const { nameDatabase } = await import('./postgres/wire/database-address.ts');
  const { lockFile } = await import('./sqlite/file/file-lock.ts');
  const digest = hash('sha256', nameDatabase(databaseUrl)).slice(0, 16);
  try {
    const bootId = readFileSync(BOOT_ID, 'utf8').trim();
    claimFolder(folder);
    const unnamed = join(folder, `${node}.new`);
    const lock = lockFile(unnamed);
    if (lock === null) return null;
    const ended = findEnded(folder, { bootId, digest }, lockFile);
    // Last: a file of this name that nobody holds says that the node has ended.
    const path = join(folder, [node, digest, bootId, numberOf(unnamed)].join('.'));
    renameSync(unnamed, path);
    return {
      ended,
      close() {
        rmSync(path, { force: true });
        lock.close();
      },
    };
  } catch {
    // No such folder, no room, no locks: what can be done without is no reason not to start.
    return null;
  }
}

function claimFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch {
    // It is there, or the next line says that it is not.
  }
  const { uid, mode } = lstatSync(folder);
  // Whoever else could write there could say of a living node that it has ended.
  if (uid !== process.getuid!() || (mode & 0o022) !== 0) throw new Error(`${folder} is not this user's alone`);
}

/** Takes away the files that it understands and that nobody holds. */
function findEnded(
  folder: string,
  here: { bootId: string; digest: string },
  lockFile: (path: string) => { close(): void } | null,
): NodeId[] {
  const ended: NodeId[] = [];
  for (const name of readdirSync(folder)) {
    const [node, digest, bootId, number] = name.split('.');
    if (node === undefined || !isId('nod', node) || digest !== here.digest) continue;
    const path = join(folder, name);
    const lock = lockFile(path);
    if (lock === null) continue;
    if (bootId === here.bootId && number === numberOf(path)) ended.push(node);
    rmSync(path, { force: true });
    lock.close();
  }
  return ended;
}

/** What no two files have at once, on one boot of one machine. */
function numberOf(path: string): string {
  const { dev, ino } = statSync(path, { bigint: true });
  return `${dev}-${ino}`;
}
