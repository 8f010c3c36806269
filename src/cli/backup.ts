// A copy of the database that is whole, taken while the service runs.
import { UsageError } from '../config.ts';
import { backupSqlite } from '../store/sqlite/backup.ts';
import { JSON_FLAG } from './command.ts';
import type { Command } from './command.ts';

export const backupCommand: Command = {
  name: 'backup',
  summary: 'Copy the embedded database to a file, also while the service runs',
  usage: ['backup FILE [--data-dir ./data]'],
  settings: ['DATA_DIR', 'DATABASE_URL'],
  flags: { json: JSON_FLAG },
  wordsMax: 1,
  run(line) {
    const [target] = line.words;
    if (target === undefined) throw new UsageError('name the file to write: backup FILE');
    const { DATA_DIR, DATABASE_URL } = line.settings().settings;
    if (DATABASE_URL !== null) {
      throw new UsageError('this copies the embedded store; a PostgreSQL database (DATABASE_URL) is copied by pg_dump');
    }
    backupSqlite({ dataDir: DATA_DIR, target });
    if (line.has('json')) process.stdout.write(`${JSON.stringify({ data_dir: DATA_DIR, file: target })}\n`);
    else process.stdout.write(`${target} holds the database. Keep a copy of the master key too, in another place.\n`);
    return Promise.resolve(0);
  },
};
