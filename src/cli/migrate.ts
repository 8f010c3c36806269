// Brings a store to this version's schema without serving. `serve` does the same at its start.
import { JSON_FLAG } from './command.ts';
import type { Command } from './command.ts';
import { withStore } from './with-store.ts';

export const migrateCommand: Command = {
  name: 'migrate',
  summary: 'Bring the data directory, or the database, to the schema of this version',
  usage: ['migrate'],
  settings: ['DATA_DIR', 'DATABASE_URL', 'MASTER_KEY'],
  flags: { json: JSON_FLAG },
  wordsMax: 0,
  async run(line) {
    const { DATA_DIR: dataDir, DATABASE_URL: databaseUrl } = line.settings().settings;
    await withStore(line, () => Promise.resolve());
    // The URL is not shown: it may hold a password.
    const [place, shown] =
      databaseUrl === null ? [{ data_dir: dataDir }, dataDir] : [{ database: 'postgresql' }, 'the database'];
    const text = line.has('json') ? JSON.stringify({ ...place, migrated: true }) : `${shown} has this version's schema`;
    process.stdout.write(`${text}\n`);
    return 0;
  },
};
