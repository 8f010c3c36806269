// Figures for metrics.
import type { StoreStats } from '../../../store.ts';
import type { WriteContext } from '../../context.ts';
import { statement } from '../../wire/statement.ts';

const SELECT_SIZE = statement<{ bytes: number }>('stats_size', 'SELECT pg_database_size(current_database()) AS bytes');

export function createStats({ read, backlog }: WriteContext) {
  return {
    /** Unfinished deliveries from memory (backlog.ts): counting millions for every scrape would be the real load. */
    async readStats(shards?: readonly number[]): Promise<StoreStats> {
      const [size] = await read((tx) => tx.run(SELECT_SIZE));
      return { unfinished: backlog.countByEnvironment(shards), storedBytes: size!.bytes, freeBytes: null };
    },
  };
}
