// Brings a store to this version's schema without serving. `serve` does the same at its start.
import { JSON_FLAG } from './command.ts';
import type { Command } from './command.ts';
import { withStore } from './with-store.ts';

export const migrateCommand: Command = {
  name: 'migrate',
  summary: 'Bring the data directory to the schema of this version',
  usage: ['migrate'],
  settings: ['DATA_DIR', 'MASTER_KEY'],
  flags: { json: JSON_FLAG },
  wordsMax: 0,
  async run(line) {
    const dataDir = line.settings().settings.DATA_DIR;
    await withStore(line, () => Promise.resolve());
    const text = line.has('json')
      ? JSON.stringify({ data_dir: dataDir, migrated: true })
      : `${dataDir} has this version's schema`;
    process.stdout.write(`${text}\n`);
    return 0;
  },
};
