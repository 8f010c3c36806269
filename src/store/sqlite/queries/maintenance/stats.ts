// Figures for metrics.
import type { StoreStats } from '../../../store.ts';
import { readWalState } from '../../threads/checkpoint.ts';
import type { WriteContext } from '../../context.ts';
import { PAGE_BYTES, readNumber } from '../../file/database.ts';

export function createStats({ db, backlog, diskReserve }: WriteContext) {
  return {
    readStats(): StoreStats {
      const logPages = Math.max(0, readWalState(db).log);
      const filePages = readNumber(db, 'PRAGMA page_count');
      return {
        unfinished: backlog.countByEnvironment(),
        storedBytes: (filePages + logPages) * PAGE_BYTES,
        freeBytes: diskReserve.freeBytes(),
      };
    },
  };
}
