// A copy of the database that is whole, taken while the service runs.
import { UsageError } from '../config.ts';
import { backupSqlite } from '../store/sqlite/file/backup.ts';
import { JSON_FLAG, type Command } from './command.ts';
import { printJson, say } from './output.ts';

export const backupCommand: Command = {
  name: 'backup',
  summary: 'Copy the embedded database to a file, also while the service runs',
  usage: ['backup FILE [--data-dir ./data] [--json]'],
  examples: ['backup backups/2026-01-31.db', 'backup copy.db --data-dir /var/lib/postrider'],
  settings: ['DATA_DIR'],
  flags: { json: JSON_FLAG },
  words: ['FILE'],
  whereMissing: "Name the service's with --data-dir",
  async run(line) {
    const [target] = line.words;
    if (target === undefined) throw new UsageError('name the file to write: backup FILE');
    const { DATA_DIR, DATABASE_URL } = line.settings().settings;
    // Set for all commands of a machine that has moved: the old directory would be backed up, day after day.
    if (DATABASE_URL !== null) {
      throw new UsageError(
        'POSTRIDER_DATABASE_URL is set, and a PostgreSQL database is copied by pg_dump; unset it to copy a data ' +
          'directory',
      );
    }
    backupSqlite({ dataDir: DATA_DIR, target });
    if (line.has('json')) await printJson({ data_dir: DATA_DIR, file: target });
    else await say(`${target} holds the database. Keep a copy of the master key too, in another place.`);
  },
};
