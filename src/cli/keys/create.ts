// Makes an API key: in the store, or through a running service that is named. In a place without a store only if told
// to: a key that no service knows opens nothing.
import { parseDuration, UsageError } from '../../config.ts';
import { DEFAULT_SCOPES, SCOPES, type Mode, type Scope } from '../../model/api-key.ts';
import { NAME_LENGTH_MAX } from '../../model/destination.ts';
import { formatTime, parseTime, TIME_RULE } from '../../model/time.ts';
import { systemClock } from '../../runtime/clock.ts';
import { JSON_FLAG, partsOf, whereGiven, type Command, type CommandLine } from '../command.ts';
import { print, printJson, tell } from '../output.ts';
import { printable } from '../terminal.ts';
import { STORE_SETTINGS, withStore, withStoreOrNew } from '../with-store.ts';
import { mintKey, type KeyRequest } from './mint-key.ts';
import { presentKey, type PresentedKey } from './present-key.ts';
import { asksService, SERVICE_FLAGS, throughService } from './through-service.ts';

const MODES: readonly Mode[] = ['test', 'live'];
/** The last day that the API can write. */
const EXPIRES_AT_MAX = Date.parse('9999-12-31T23:59:59.999Z');

export const createKeyCommand: Command = {
  name: 'keys create',
  summary: 'Create an API key and print it, this once',
  usage: ['keys create --mode test|live [flags]', 'keys create --mode test|live --url URL --key KEY [flags]'],
  examples: ['keys create --mode test', 'keys create --mode live --scopes read --expires 90d --name Charts'],
  settings: STORE_SETTINGS,
  flags: {
    mode: {
      type: 'string',
      meaning: 'the environment that the key is for; required',
      value: 'MODE',
      options: MODES,
    },
    name: { type: 'string', meaning: 'a label for people', value: 'NAME', unit: `up to ${NAME_LENGTH_MAX} characters` },
    scopes: {
      type: 'string',
      meaning: 'what the key may do, comma-separated',
      value: 'LIST',
      options: SCOPES,
      isList: true,
      default: 'all but admin',
    },
    expires: {
      type: 'string',
      meaning: 'when it ends to be valid: a date or time (2027-01-31, 2027-01-31T09:30:00Z), or in so long (90d, 12h)',
      value: 'WHEN',
      default: 'never',
    },
    init: { type: 'boolean', meaning: 'make a new store if there is none; the service then starts on it' },
    json: JSON_FLAG,
    ...SERVICE_FLAGS,
  },
  whereMissing: "Name the service's with --data-dir or --database-url, or make a new one with --init",
  run: create,
};

async function create(line: CommandLine): Promise<void> {
  const request: KeyRequest = {
    mode: modeOf(line.textOf('mode')),
    name: nameOf(line.textOf('name')),
    scopes: scopesOf(line.textOf('scopes')),
    expiresAt: expiryOf(line.textOf('expires')),
  };
  const created = asksService(line) ? await createThroughService(line, request) : await createInStore(line, request);
  if (line.has('json')) return printJson(created);
  // First, so that a key is known, and can be revoked, whose text could not be written.
  tell(describe(created));
  await print(printable(created.secret));
}

function createThroughService(line: CommandLine, request: KeyRequest): Promise<Created> {
  if (line.has('init')) throw new UsageError('--init makes a store: leave it out, or --url, --key and --profile');
  const { mode, name, scopes, expiresAt } = request;
  return throughService(line, (client) =>
    client.keys.create({
      mode,
      scopes: [...scopes],
      ...whereGiven({ name, expires_at: expiresAt === null ? null : formatTime(expiresAt) }),
    }),
  );
}

function createInStore(line: CommandLine, request: KeyRequest): Promise<Created> {
  const open = line.has('init') ? withStoreOrNew : withStore;
  return open(line, async (store) => {
    const { key, secret } = mintKey(await store.readEnvironments(), request);
    await store.createApiKey(key);
    return { ...presentKey(key), secret };
  });
}

type Created = Pick<PresentedKey, 'id' | 'mode' | 'scopes' | 'expires_at'> & { secret: string };

function describe({ id, mode, scopes, expires_at: expiresAt }: Created): string {
  const expiry = expiresAt === null ? '' : ` It expires at ${expiresAt}.`;
  return `${id}: a ${mode} key with the scopes ${scopes.join(', ')}.${expiry} It is shown this once.`;
}

function modeOf(text: string | null): Mode {
  if (text !== null) return text as Mode;
  throw new UsageError('say which environment the key is for: --mode test or --mode live');
}

function nameOf(text: string | null): string | null {
  // Characters as the API counts them, not halves of some.
  if (text !== null && Array.from(text).length > NAME_LENGTH_MAX) {
    throw new UsageError(`--name takes at most ${NAME_LENGTH_MAX} characters`);
  }
  return text;
}

function scopesOf(text: string | null): Scope[] {
  if (text === null) return [...DEFAULT_SCOPES];
  const scopes = partsOf(text) as Scope[];
  const twice = scopes.find((scope, i) => scopes.indexOf(scope) < i);
  if (twice !== undefined) throw new UsageError(`--scopes: "${twice}" is there twice`);
  return scopes;
}

function expiryOf(text: string | null): number | null {
  if (text === null) return null;
  const now = systemClock.now();
  const duration = parseDuration(text);
  const expiresAt = duration === null ? parseTime(text) : now + duration;
  if (expiresAt === null) {
    throw new UsageError(`--expires: "${text}" is no time; ${TIME_RULE}, or 90d, 12h, 30m from now`);
  }
  if (expiresAt <= now) throw new UsageError(`--expires: "${text}" is not in the future`);
  if (expiresAt > EXPIRES_AT_MAX) throw new UsageError(`--expires: "${text}" is after the year 9999`);
  return expiresAt;
}
