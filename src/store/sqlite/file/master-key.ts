// The 32 bytes under which signing secrets and custom header values are sealed: from MASTER_KEY, or a file of the
// data directory that the first start makes. Without it the secrets in the database, and its backups, are lost.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { MASTER_KEY_BYTES } from '../../../runtime/sealer.ts';
import type { Random } from '../../../runtime/random.ts';
import { createDataDir, databasePath, masterKeyPath, unwritable } from './data-dir.ts';
import { publishFile, writeNewFile } from './durable-file.ts';
import { parseMasterKey } from '../../master-key.ts';
import { StoreError } from '../../store.ts';

/**
 * `configured` is the setting MASTER_KEY. Throws `wrong_setting` if that has neither form, `wrong_master_key` if the
 * file has not, or is missing beside a database that was made with it; `unwritable` if it cannot be made.
 */
export function loadMasterKey(options: { dataDir: string; configured: string | null; random: Random }): Uint8Array {
  const { dataDir, configured, random } = options;
  if (configured !== null) return parseMasterKey(configured, 'POSTRIDER_MASTER_KEY', 'wrong_setting');
  const path = masterKeyPath(dataDir);
  if (!existsSync(path)) {
    if (existsSync(databasePath(dataDir))) throw missingKey(path);
    createKeyFile({ dataDir, path, random });
  }
  return parseMasterKey(readKeyFile(path).trim(), path, 'wrong_master_key');
}

function readKeyFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new StoreError('wrong_master_key', `cannot read ${path}: give this user the right to`, { cause });
  }
}

// Complete under another name first, so that a crash leaves either no key or a whole one, and of two first starts at
// the same moment both use the key that was first.
function createKeyFile({ dataDir, path, random }: { dataDir: string; path: string; random: Random }): void {
  const draft = `${path}.${process.pid}.new`;
  createDataDir(dataDir);
  try {
    rmSync(draft, { force: true });
    writeNewFile(draft, `${random.bytes(MASTER_KEY_BYTES).toHex()}\n`);
    publishFile(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw unwritable(path, error);
  }
}

function missingKey(path: string): StoreError {
  return new StoreError(
    'wrong_master_key',
    `${path} is missing beside a database whose secrets it seals: restore it from where you keep a copy, ` +
      'or set POSTRIDER_MASTER_KEY if the key was given that way',
  );
}
