// API keys from the command line, on the store directly: an operator always gets in, also while the service runs.
import { mintApiKey } from '../runtime/mint-api-key.ts';
import { UsageError } from '../config.ts';
import { DEFAULT_SCOPES, SCOPES } from '../model/api-key.ts';
import type { ApiKey, Mode, Scope } from '../model/api-key.ts';
import { isId } from '../model/id.ts';
import { formatTime } from '../model/time.ts';
import { systemClock } from '../runtime/clock.ts';
import { createIds } from '../runtime/ids.ts';
import { systemRandom } from '../runtime/random.ts';
import type { ApiKeyId } from '../model/id.ts';
import type { ToolStore } from '../store/open.ts';
import type { EnvironmentVersions, Page } from '../store/store.ts';
import { JSON_FLAG } from './command.ts';
import type { Command, CommandLine } from './command.ts';
import { withStore } from './with-store.ts';

export const keysCommand: Command = {
  name: 'keys',
  summary: 'Create, list and revoke API keys',
  usage: ['keys create --mode test|live [--name N] [--scopes a,b]', 'keys list', 'keys revoke ID'],
  settings: ['DATA_DIR', 'DATABASE_URL', 'MASTER_KEY'],
  flags: {
    mode: { type: 'string', meaning: 'test or live', value: 'MODE' },
    name: { type: 'string', meaning: 'a label for people', value: 'NAME' },
    scopes: { type: 'string', meaning: `of ${SCOPES.join(',')}; default all but admin`, value: 'LIST' },
    json: JSON_FLAG,
  },
  wordsMax: 2,
  async run(line) {
    const [action, id] = line.words;
    if (action === 'create' && id === undefined) return create(line);
    if (action === 'list' && id === undefined) return list(line);
    if (action === 'revoke') return revoke(line, id);
    throw new UsageError('say what to do: keys create, keys list or keys revoke ID');
  },
};

async function create(line: CommandLine): Promise<number> {
  const mode = modeOf(line.textOf('mode'));
  const request = { mode, name: nameOf(line.textOf('name')), scopes: scopesOf(line.textOf('scopes')), expiresAt: null };
  const { key, secret } = await withStore(line, (store) => createKey(store, request));
  if (line.has('json')) {
    printJson({ ...presentKey(key), secret });
  } else {
    process.stdout.write(`${secret}\n`);
    process.stderr.write(`${key.id}: a ${mode} key with the scopes ${key.scopes.join(', ')}. It is shown this once.\n`);
  }
  return 0;
}

type KeyRequest = { mode: Mode; name: string | null; scopes: readonly Scope[]; expiresAt: number | null };

async function createKey(store: ToolStore, request: KeyRequest): Promise<{ key: ApiKey; secret: string }> {
  const minted = mintKey(await store.readEnvironments(), request);
  await store.createApiKey(minted.key);
  return minted;
}

/** A key in the environment of its mode, which the store does not have yet. */
export function mintKey(
  environments: readonly EnvironmentVersions[],
  request: KeyRequest,
): { key: ApiKey; secret: string } {
  const { environment } = environments.find(({ mode }) => mode === request.mode)!;
  const sources = { random: systemRandom, clock: systemClock, ids: createIds(systemClock, systemRandom) };
  return mintApiKey({ ...request, environment }, sources);
}

async function list(line: CommandLine): Promise<number> {
  const keys = await withStore(line, listAll);
  if (line.has('json')) printJson(keys.map(presentKey));
  else for (const key of keys) process.stdout.write(`${describeKey(key)}\n`);
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

async function revoke(line: CommandLine, id: string | undefined): Promise<number> {
  if (id === undefined) throw new UsageError('name the key: keys revoke key_…; "keys list" shows them');
  const isRevoked = await withStore(line, async (store) => {
    const environments = (await store.readEnvironments()).map(({ environment }) => environment);
    return isId('key', id) && (await store.revokeApiKey({ environments, id }));
  });
  if (line.has('json')) printJson({ id, revoked: isRevoked });
  else if (isRevoked) process.stdout.write(`${id} is revoked; a running service refuses it within a second\n`);
  if (!isRevoked) process.stderr.write(`postrider: there is no key ${id}; "postrider keys list" shows them\n`);
  return isRevoked ? 0 : 1;
}

function modeOf(text: string | null): Mode {
  if (text === 'test' || text === 'live') return text;
  throw new UsageError('say which environment the key is for: --mode test or --mode live');
}

function nameOf(text: string | null): string | null {
  if (text !== null && (text === '' || text.length > 256)) throw new UsageError('--name takes 1 to 256 characters');
  return text;
}

function scopesOf(text: string | null): Scope[] {
  if (text === null) return [...DEFAULT_SCOPES];
  return [...new Set(text.split(',').map((word) => scopeOf(word.trim())))];
}

function scopeOf(word: string): Scope {
  const scope = SCOPES.find((candidate) => candidate === word);
  if (scope === undefined) throw new UsageError(`"${word}" is not a scope; they are ${SCOPES.join(', ')}`);
  return scope;
}

function presentKey(key: ApiKey) {
  return {
    id: key.id,
    mode: key.mode,
    name: key.name,
    scopes: key.scopes,
    prefix: key.prefix,
    last4: key.last4,
    created_at: formatTime(key.createdAt),
    expires_at: key.expiresAt === null ? null : formatTime(key.expiresAt),
    last_used_at: key.lastUsedAt === null ? null : formatTime(key.lastUsedAt),
  };
}

function describeKey(key: ApiKey): string {
  const used = key.lastUsedAt === null ? 'never used' : `last used ${formatTime(key.lastUsedAt)}`;
  return `${key.id}  ${key.prefix}…${key.last4}  ${key.name ?? '-'}  ${key.scopes.join(',')}  ${used}`;
}

function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
