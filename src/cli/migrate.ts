// Brings a store to this version's schema without serving. `serve` does the same at its start.
import { JSON_FLAG, type Command } from './command.ts';
import { printJson, say } from './output.ts';
import { STORE_SETTINGS, withStore } from './with-store.ts';

export const migrateCommand: Command = {
  name: 'migrate',
  summary: 'Bring the data directory, or the database, to the schema of this version',
  usage: ['migrate [--data-dir ./data | --database-url URL] [--json]'],
  examples: ['migrate', 'migrate --data-dir /var/lib/postrider'],
  settings: STORE_SETTINGS,
  flags: { json: JSON_FLAG },
  whereMissing: "Name the service's with --data-dir; a new one needs no migrating, for serve makes it",
  async run(line) {
    const { DATA_DIR: dataDir, DATABASE_URL: databaseUrl } = line.settings().settings;
    // An empty database is one that somebody has created for this. A directory without a store is a slip in its path.
    await withStore(line, () => Promise.resolve(), { mayMake: databaseUrl !== null });
    // The URL is not shown: it may hold a password.
    const [place, shown] =
      databaseUrl === null ? [{ data_dir: dataDir }, dataDir] : [{ database: 'postgresql' }, 'the database'];
    if (line.has('json')) await printJson({ ...place, migrated: true });
    else await say(`${shown} has this version's schema`);
  },
};
