// What is watched of the store: figures for metrics, and whether its files are still there, asked when nothing is
// written that would find out.
import { checkpointPassively, readWalState } from '../../threads/checkpoint.ts';
import type { Write } from '../../context.ts';
import { PAGE_BYTES, readNumber } from '../../file/database.ts';

export const readStats: Write<'readStats'> = ({ db, backlog, diskReserve }) => {
  const logPages = Math.max(0, readWalState(db).log);
  const filePages = readNumber(db, 'PRAGMA page_count');
  return {
    unfinished: backlog.countByEnvironment(),
    storedBytes: (filePages + logPages) * PAGE_BYTES,
    freeBytes: diskReserve.freeBytes(),
  };
};

export const findTrouble: Write<'findTrouble'> = ({ db, files }) => {
  const trouble = files.findTrouble();
  // Should only the log be gone, what was promised and is nowhere else goes into the database, while we have it.
  if (trouble !== null && files.hasDatabase()) checkpointPassively(db);
  return trouble;
};
