// Figures for metrics, and the count of unfinished deliveries that they and the limit of a backlog come from.
import { recountBacklog } from '../../backlog.ts';
import type { Write, WriteContext } from '../../context.ts';
import { statement } from '../../wire/statement.ts';

const SELECT_SIZE = statement<{ bytes: number }>('stats_size', 'SELECT pg_database_size(current_database()) AS bytes');

/** Unfinished deliveries from memory (backlog.ts): counting millions for every scrape would be the real load. */
export const readStats: Write<'readStats'> = async ({ read, backlog }, shards) => {
  const [size] = await read((tx) => tx.run(SELECT_SIZE));
  return { unfinished: backlog.countByEnvironment(shards), storedBytes: size!.bytes, freeBytes: null };
};

export const findBacklogs: Write<'findBacklogs'> = async ({ backlog }, request) => backlog.findLargest(request);

export async function recountUnfinished({ read, backlog, foundFullAt }: WriteContext): Promise<void> {
  await recountBacklog(backlog, read);
  foundFullAt.clear();
}
