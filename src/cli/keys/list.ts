// Lists API keys, newest first.
import type { ApiKey } from '../../model/api-key.ts';
import type { ApiKeyId } from '../../model/id.ts';
import { formatTime } from '../../model/time.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { Page, ToolStore } from '../../store/store.ts';
import { JSON_FLAG } from '../command.ts';
import type { Command, CommandLine } from '../command.ts';
import { print, printJson, tell } from '../output.ts';
import { formatTable } from '../table.ts';
import type { Column } from '../table.ts';
import { STORE_SETTINGS, withStore } from '../with-store.ts';
import { presentKey } from './present-key.ts';

export const listKeysCommand: Command = {
  name: 'keys list',
  summary: 'List the API keys: whose, what they may do, when they were last used',
  usage: ['keys list [--json]'],
  settings: STORE_SETTINGS,
  flags: { json: { ...JSON_FLAG, meaning: 'print an array of all keys as one line of JSON' } },
  words: [],
  whereMissing: "Name the service's with --data-dir or --database-url",
  run: list,
};

async function list(line: CommandLine): Promise<number> {
  const keys = await withStore(line, listAll);
  if (line.has('json')) await printJson(keys.map(presentKey));
  else if (keys.length === 0) tell('There are no API keys. To make one: postrider keys create --mode test');
  else
    await print(formatTable(columnsAt(systemClock.now()), keys, process.stdout.isTTY ? process.stdout.columns : null));
  return 0;
}

async function listAll(store: ToolStore): Promise<ApiKey[]> {
  const environments = (await store.readEnvironments()).map(({ environment }) => environment);
  const keys: ApiKey[] = [];
  let before: ApiKeyId | null = null;
  do {
    const page: Page<ApiKey, ApiKeyId> = await store.listApiKeys({ environments, before, limit: 100 });
    keys.push(...page.rows);
    before = page.next;
  } while (before !== null);
  return keys;
}

/** Those by which a key is known come first: they stay on one line at 80 columns. */
function columnsAt(now: number): Column<ApiKey>[] {
  return [
    { title: 'ID', of: ({ id }) => id },
    { title: 'KEY', of: ({ prefix, last4 }) => `${prefix}…${last4}` },
    { title: 'LAST USED', of: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : toTheMinute(lastUsedAt)) },
    { title: 'NAME', of: ({ name }) => name ?? '-', widthMax: 14 },
    { title: 'SCOPES', of: ({ scopes }) => scopes.join(',') },
    { title: 'EXPIRES', of: ({ expiresAt }) => describeExpiry(expiresAt, now) },
  ];
}

function describeExpiry(expiresAt: number | null, now: number): string {
  if (expiresAt === null) return 'never';
  return `${toTheMinute(expiresAt)}${expiresAt <= now ? ' (expired)' : ''}`;
}

function toTheMinute(at: number): string {
  return `${formatTime(at).slice(0, '2026-01-31T09:30'.length)}Z`;
}
