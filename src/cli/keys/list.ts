// Lists API keys, newest first: of the store, or of a running service that is named.
import { systemClock } from '../../runtime/clock.ts';
import type { ApiKey } from '../../model/api-key.ts';
import type { ApiKeyId } from '../../model/id.ts';
import type { Page, ToolStore } from '../../store/store.ts';
import { JSON_FLAG, type Command, type CommandLine } from '../command.ts';
import { print, printJson, tell } from '../output.ts';
import { formatTable, terminalWidth, type Column } from '../table.ts';
import { STORE_SETTINGS, withStore } from '../with-store.ts';
import { presentKey, type PresentedKey } from './present-key.ts';
import { asksService, SERVICE_FLAGS, throughService } from './through-service.ts';
import { nextCommand } from '../next-command.ts';

export const listKeysCommand: Command = {
  name: 'keys list',
  summary: 'List the API keys: whose, what they may do, when they were last used',
  usage: ['keys list [--json]', 'keys list --url URL --key KEY [--json]'],
  examples: ['keys list', 'keys list --json', 'keys list --profile production'],
  settings: STORE_SETTINGS,
  flags: {
    json: { ...JSON_FLAG, meaning: 'print JSON, a line for each key' },
    ...SERVICE_FLAGS,
  },
  whereMissing: "Name the service's with --data-dir or --database-url, or ask a running one with --url and --key",
  run: list,
};

async function list(line: CommandLine): Promise<void> {
  const keys = asksService(line)
    ? await throughService(line, (client) => Array.fromAsync(client.keys.list()))
    : (await withStore(line, listAll)).map(presentKey);
  if (line.has('json')) for (const key of keys) await printJson(key);
  else if (keys.length === 0) tell(`There are no API keys. To make one: ${nextCommand('keys create --mode test')}`);
  else await print(formatTable(columnsAt(systemClock.now()), keys, terminalWidth()));
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
function columnsAt(now: number): Column<PresentedKey>[] {
  return [
    { title: 'ID', of: ({ id }) => id },
    { title: 'KEY', of: ({ prefix, last4 }) => `${prefix}…${last4}` },
    { title: 'LAST USED', of: ({ last_used_at: at }) => (at === null ? 'never' : toTheMinute(at)) },
    { title: 'NAME', of: ({ name }) => name ?? '-', widthMax: 14 },
    { title: 'SCOPES', of: ({ scopes }) => scopes.join(',') },
    { title: 'EXPIRES', of: ({ expires_at: at }) => describeExpiry(at, now) },
  ];
}

function describeExpiry(expiresAt: string | null, now: number): string {
  if (expiresAt === null) return 'never';
  return `${toTheMinute(expiresAt)}${Date.parse(expiresAt) <= now ? ' (expired)' : ''}`;
}

function toTheMinute(at: string): string {
  return `${at.slice(0, '2026-01-31T09:30'.length)}Z`;
}
