// Moves the embedded store to PostgreSQL: the one way from a single file to many nodes.
import { join } from 'node:path';
import { UsageError } from '../config.ts';
import { systemClock } from '../runtime/clock.ts';
import { systemRandom } from '../runtime/random.ts';
import { copyStore, type CopyReport, type CopyStep } from '../store/copy.ts';
import { databaseUrlOf, JSON_FLAG, type Command, type CommandLine } from './command.ts';
import { printJson, say } from './output.ts';
import { nextCommand, quote } from './next-command.ts';

const PROGRESS_INTERVAL_MS = 1_000;

export const copyCommand: Command = {
  name: 'copy',
  summary: 'Move a stopped embedded store to PostgreSQL; goes on where an earlier copy was cut off',
  usage: ['copy --from ./data --to postgres://user@host/database [--json]'],
  examples: ['copy --from ./data --to postgres://postrider@db.internal/postrider'],
  settings: ['MASTER_KEY'],
  flags: {
    from: { type: 'string', meaning: 'data directory to copy', value: 'FOLDER', default: 'the setting DATA_DIR' },
    to: { type: 'string', meaning: 'empty database to copy to', value: 'URL', default: 'the setting DATABASE_URL' },
    json: JSON_FLAG,
  },
  whereMissing: "Name the service's data directory with --from",
  run: copy,
};

async function copy(line: CommandLine): Promise<void> {
  const { settings } = line.settings();
  const dataDir = line.textOf('from') ?? settings.DATA_DIR;
  const databaseUrl = databaseUrlOf(line, 'to') ?? settings.DATABASE_URL;
  if (databaseUrl === null)
    throw new UsageError('name the database to copy to: --to postgres://…, or set POSTRIDER_DATABASE_URL');
  const masterKey = settings.MASTER_KEY === '' ? null : settings.MASTER_KEY;
  const report = await copyStore({
    dataDir,
    databaseUrl,
    masterKey,
    clock: systemClock,
    random: systemRandom,
    onProgress: createProgress(),
  });
  if (line.has('json')) await printJson(present(report, dataDir));
  else await say(describe(report, dataDir, masterKey !== null));
}

/** A line on standard error when a table begins or ends, and now and then between. */
function createProgress(): (step: CopyStep) => void {
  let shown = '';
  let shownAt = Number.NEGATIVE_INFINITY;
  return ({ doing, table, rows, total }) => {
    const now = systemClock.monotonic();
    const isNew = shown !== `${doing} ${table}`;
    if (!isNew && rows < total && now - shownAt < PROGRESS_INTERVAL_MS) return;
    [shown, shownAt] = [`${doing} ${table}`, now];
    process.stderr.write(`${doing} ${table}: ${rows} of ${total}\n`);
  };
}

// The URL is not shown: it may hold a password.
function present({ sourceId, isResumed, tables }: CopyReport, dataDir: string) {
  const presented = Object.entries(tables).map(([name, { rows, sha256Sum }]) => [
    name,
    { rows, sha256_sum: sha256Sum },
  ]);
  return {
    from: dataDir,
    to: 'postgresql',
    source_id: sourceId,
    resumed: isResumed,
    tables: Object.fromEntries(presented) as Record<string, { rows: number; sha256_sum: string }>,
  };
}

function describe({ tables }: CopyReport, dataDir: string, isKeyConfigured: boolean): string {
  const rows = Object.values(tables).reduce((sum, table) => sum + table.rows, 0);
  const keyFile = join(dataDir, 'master.key');
  const key = isKeyConfigured
    ? ['Every node needs the master key that is set now: keep POSTRIDER_MASTER_KEY as it is.']
    : [
        `Every node needs the master key of this store, which is in ${keyFile}:`,
        `  export POSTRIDER_MASTER_KEY="$(cat ${quote(keyFile)})"`,
        'Keep a copy of it apart from the database: without it the secrets in there cannot be opened.',
      ];
  return [
    `The database holds the whole store: ${rows} rows in ${Object.keys(tables).length} tables, the same on both sides.`,
    '',
    ...key,
    `Then set POSTRIDER_DATABASE_URL and start: ${nextCommand('serve')}`,
    '',
    `Do not serve ${dataDir} again: both would send what is unfinished.`,
  ].join('\n');
}
