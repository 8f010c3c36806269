// A database as the target of a copy. Each chunk and how far the copy has come with it are one transaction, so that a
// copy that was cut off goes on where it was: nothing is missing, nothing is there twice.
import {
  COPIED_TABLES,
  type CopiedRow,
  type CopiedTable,
  type CopiedTableName,
  type CopyProgress,
  type TableProgress,
} from '../../rows/copied-tables.ts';
import { StoreError } from '../../store.ts';
import type { ClusterNode } from '../../cluster-store.ts';
import { withPartitions } from '../bisect.ts';
import { advanceProgress, insertProgress, readProgress } from './copy-progress.ts';
import { TABLE_STATEMENTS, type TableStatements } from './copy-tables.ts';
import { toStoreError } from '../wire/errors.ts';
import { noPartitions, openPartitions, type Partitions } from '../schema/partitions.ts';
import { openPools, transactionsOf, type PostgresStoreOptions } from '../postgres-store.ts';
import { keepLiving } from '../queries/cluster/nodes.ts';
import { statement } from '../wire/statement.ts';
import type { Transactions, Tx } from '../wire/transaction.ts';
import { takeTurn } from '../wire/turns.ts';

export type CopyTarget = ReturnType<typeof createTarget>;

/** Makes the schema unless it is there, for this master key. Throws StoreError as opening a store does. */
export async function openPostgresCopyTarget(options: PostgresStoreOptions): Promise<CopyTarget> {
  const pools = await openPools({ ...options, mayBeUnfinished: true });
  try {
    const partitions = pools.layout === 'distributed' ? noPartitions : await openPartitions(pools.upkeep);
    return createTarget({
      ...transactionsOf(options, pools)(pools.other),
      partitions,
      maySyncLater: pools.layout === 'partitioned',
      analyze: async (table) => void (await pools.upkeep.query(`ANALYZE ${table}`)),
      close: () => pools.close(),
    });
  } catch (error) {
    await pools.close();
    throw toStoreError(error);
  }
}

type Parts = Pick<Transactions, 'read' | 'write'> & {
  partitions: Partitions;
  maySyncLater: boolean;
  analyze: (table: string) => Promise<void>;
  close: () => Promise<void>;
};

// A chunk that is lost with the server's memory takes its progress with it, so it need not be waited for until it is on
// disk. The last commit is: with it all before are, too. Not so on several machines: a coordinator that forgets a
// commit which some of them have made already leaves the chunk in pieces.
const ASYNCHRONOUS = statement<never>('copy_asynchronous', `SELECT set_config('synchronous_commit', 'off', true)`);

function createTarget({ read, write, partitions, maySyncLater, analyze, close }: Parts) {
  let progress: CopyProgress | null = null;
  const advance = async (after: CopyProgress, work: (tx: Tx) => void): Promise<void> => {
    const before = progress!;
    await write(async (tx) => {
      work(tx);
      await advanceProgress(tx, before, after);
    });
    progress = after;
  };

  return {
    /** How far the copy of this source has come; refuses a database that holds anything else. */
    async begin(sourceId: string): Promise<CopyProgress> {
      progress = await write((tx) => beginCopy(tx, sourceId));
      return progress;
    },
    /** Rows and progress in one transaction. */
    insert({ name }: CopiedTable, chunk: { rows: readonly CopiedRow[]; progress: TableProgress }): Promise<void> {
      const { insert, toBatchRow, timesOf } = TABLE_STATEMENTS[name];
      const after = { ...progress!, tables: { ...progress!.tables, [name]: chunk.progress } };
      return withPartitions(partitions, timesOf(chunk.rows), () =>
        advance(after, (tx) => {
          if (maySyncLater) void tx.run(ASYNCHRONOUS);
          void tx.batch(insert, chunk.rows.map(toBatchRow));
        }),
      );
    },
    /** All rows, in any order. */
    readRows: ({ name }: CopiedTable) => readRows(read, TABLE_STATEMENTS[name]),
    /** From now on it may be served. */
    async complete(): Promise<void> {
      await advance({ ...progress!, isComplete: true }, () => {});
      // So that the first statements are planned well. Where it takes too long, the server does it later by itself.
      for (const { name } of COPIED_TABLES) await analyze(name).catch(() => {});
    },
    close,
  };
}

async function beginCopy(tx: Tx, sourceId: string): Promise<CopyProgress> {
  await takeTurn(tx);
  refuseNodes(await keepLiving(tx));
  const found = await readProgress(tx);
  if (found === null) {
    await assertEmpty(tx);
    const progress: CopyProgress = { sourceId, isComplete: false, tables: {} };
    await insertProgress(tx, progress);
    return progress;
  }
  if (found.isComplete) {
    throw notEmpty('the database holds a copy that is finished');
  }
  if (found.sourceId !== sourceId) {
    throw notEmpty(
      'the database holds the beginning of a copy of another store, or of this one before it was served again',
    );
  }
  return found;
}

function refuseNodes(nodes: readonly ClusterNode[]): void {
  const [node] = nodes;
  if (node === undefined) return;
  const others = nodes.length === 1 ? '' : ` and ${nodes.length - 1} more`;
  throw new StoreError(
    'in_use',
    `the database is served by the node ${node.name} (${node.address})${others}: name an empty database, or stop ` +
      'every node, drop the database and create it. A node that was killed counts until its lease has run out',
  );
}

const SEEDED: readonly CopiedTableName[] = ['accounts', 'environments'];

const COUNT_USED = statement<{ used: number }>(
  'copy_environments_used',
  'SELECT count(*) AS used FROM environments WHERE config_version > 0 OR auth_version > 0',
);

async function assertEmpty(tx: Tx): Promise<void> {
  const [environments] = await tx.run(COUNT_USED);
  if (environments!.used > 0) throw notEmpty('the database holds a store already');
  for (const one of Object.values(TABLE_STATEMENTS).filter(({ table }) => !SEEDED.includes(table.name))) {
    if ((await tx.run(one.first)).length > 0) throw notEmpty('the database holds a store already');
  }
}

function notEmpty(what: string): StoreError {
  return new StoreError('unwritable', `${what}: name an empty database, or drop and create this one`);
}

async function* readRows(read: Transactions['read'], table: TableStatements): AsyncIterable<CopiedRow[]> {
  let page = await read((tx) => tx.run(table.first));
  while (page.length > 0) {
    yield page.map(table.toRow);
    const after = table.keyOf(page.at(-1)!);
    page = await read((tx) => tx.run(table.following, after));
  }
}
