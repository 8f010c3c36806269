// What is watched of the store: figures for metrics, and whether its files are still there, asked when nothing is
// written that would find out.
import { checkpointPassively, readWalState } from '../../threads/checkpoint.ts';
import type { Write } from '../../context.ts';
import { formatId } from '../../../../model/id.ts';
import { PAGE_BYTES, readNumber, statement } from '../../file/database.ts';

export const readStats: Write<'readStats'> = ({ db, backlog, diskReserve }) => {
  const logPages = Math.max(0, readWalState(db).log);
  const filePages = readNumber(db, 'PRAGMA page_count');
  return {
    unfinished: backlog.countByEnvironment(),
    storedBytes: (filePages + logPages) * PAGE_BYTES,
    freeBytes: diskReserve.freeBytes(),
  };
};

const SELECT_ID = statement<{ id: Uint8Array }>('SELECT id FROM destinations WHERE key = ?');

export const findBacklogs: Write<'findBacklogs'> = ({ sql, backlog }, request) =>
  backlog.findLargest(request).map(({ destination, environment, count }) => {
    return { destinationId: formatId('dst', sql(SELECT_ID).get(destination)!.id), environment, unfinished: count };
  });

export const findTrouble: Write<'findTrouble'> = ({ db, files }) => {
  const trouble = files.findTrouble();
  // Should only the log be gone, what was promised and is nowhere else goes into the database, while we have it.
  if (trouble !== null && files.hasDatabase()) checkpointPassively(db);
  return trouble;
};
