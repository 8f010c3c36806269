// The 32 bytes under which signing secrets and custom header values are sealed: from MASTER_KEY, or a file of the
// data directory that the first start makes. Without it the secrets in the database, and its backups, are lost.
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { MASTER_KEY_BYTES } from '../../runtime/sealer.ts';
import type { Random } from '../../runtime/random.ts';
import { createDataDir, databasePath, unwritable } from './data-dir.ts';
import { parseMasterKey } from '../master-key.ts';
import { StoreError } from '../store.ts';

const FILE_NAME = 'master.key';

/**
 * `configured` is the setting MASTER_KEY. Throws `wrong_master_key` if that or the file has neither form, or if the
 * file is missing beside a database that was made with it; `unwritable` if it cannot be made.
 */
export function loadMasterKey(options: { dataDir: string; configured: string | null; random: Random }): Uint8Array {
  const { dataDir, configured, random } = options;
  if (configured !== null) return parseMasterKey(configured, 'MASTER_KEY');
  const path = join(dataDir, FILE_NAME);
  if (!existsSync(path)) {
    if (existsSync(databasePath(dataDir))) throw missingKey(path);
    createKeyFile({ dataDir, path, random });
  }
  return parseMasterKey(readFileSync(path, 'utf8').trim(), path);
}

// The key is complete and on disk under another name before it gets its own, so that a crash leaves either no key
// or a whole one, and of two first starts at the same moment both use the key that was first.
function createKeyFile({ dataDir, path, random }: { dataDir: string; path: string; random: Random }): void {
  const draft = `${path}.${process.pid}.new`;
  createDataDir(dataDir);
  try {
    rmSync(draft, { force: true });
    writeDurably(draft, `${Buffer.from(random.bytes(MASTER_KEY_BYTES)).toString('hex')}\n`);
    moveUnlessExists(draft, path);
    rmSync(draft, { force: true });
    syncDirectory(dataDir);
  } catch (error) {
    throw unwritable(path, error);
  }
}

function writeDurably(path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function moveUnlessExists(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return;
    // A file system without hard links: nothing there keeps two first starts apart, but they are rare.
    renameSync(from, to);
  }
}

function syncDirectory(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

function missingKey(path: string): StoreError {
  return new StoreError(
    'wrong_master_key',
    `${path} is missing beside a database whose secrets it seals: restore it from where you keep a copy, ` +
      'or set MASTER_KEY if the key was given that way',
  );
}
