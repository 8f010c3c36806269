// Whether the files of the data directory are still there, asked when nothing is written that would find out.
import { checkpointPassively } from '../../threads/checkpoint.ts';
import type { WriteContext } from '../../context.ts';

export function createFilesCheck({ db, files }: WriteContext) {
  return {
    findTrouble(): string | null {
      const trouble = files.findTrouble();
      // Should only the log be gone, what was promised and is nowhere else goes into the database, while we have it.
      if (trouble !== null && files.hasDatabase()) checkpointPassively(db);
      return trouble;
    },
  };
}
