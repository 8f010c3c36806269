// How far a copy into this database has come: one row of `meta`, written in the transactions of the rows it speaks of.
import type { PoolClient } from 'pg';
import type { CopyProgress } from '../../rows/copied-tables.ts';
import { StoreError } from '../../store.ts';
import { statement } from '../wire/statement.ts';
import type { Tx } from '../wire/transaction.ts';

const SELECT = `SELECT value FROM meta WHERE name = 'copy'`;

const SELECT_PROGRESS = statement<{ value: Uint8Array }>('copy_progress_select', SELECT);

const INSERT_PROGRESS = statement<never>('copy_progress_insert', `INSERT INTO meta (name, value) VALUES ('copy', $1)`);

// Only as it was seen: of two copies into one database one would otherwise tell the other's rows as its own.
const ADVANCE = statement<never>(
  'copy_progress_advance',
  `UPDATE meta SET value = $2 WHERE name = 'copy' AND value = $1`,
);

export async function readProgress(tx: Tx): Promise<CopyProgress | null> {
  const [row] = await tx.run(SELECT_PROGRESS);
  return row === undefined ? null : decode(row.value);
}

export function insertProgress(tx: Tx, progress: CopyProgress): Promise<number> {
  return tx.change(INSERT_PROGRESS, [encode(progress)]);
}

export async function advanceProgress(tx: Tx, before: CopyProgress, after: CopyProgress): Promise<void> {
  if ((await tx.change(ADVANCE, [encode(before), encode(after)])) === 1) return;
  throw new StoreError('in_use', 'another copy into this database is under way: let it end, or stop it');
}

/** The same before there are transactions. */
export async function readProgressOn(client: PoolClient): Promise<CopyProgress | null> {
  const { rows } = await client.query<{ value: Uint8Array }>(SELECT);
  return rows[0] === undefined ? null : decode(rows[0].value);
}

/** Half a store must not be served: what is missing would be taken for deleted. */
export function refuseUnfinished(progress: CopyProgress | null): void {
  if (progress === null || progress.isComplete) return;
  throw new StoreError(
    'in_use',
    'a copy into the database of POSTRIDER_DATABASE_URL is not finished: give the same copy command ' +
      'again, which goes on where it was',
  );
}

function encode(progress: CopyProgress): Uint8Array {
  return Buffer.from(JSON.stringify(progress));
}

function decode(value: Uint8Array): CopyProgress {
  return JSON.parse(Buffer.from(value).toString()) as CopyProgress;
}
