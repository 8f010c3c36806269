// Which service a command asks, and with which key: flag, then environment, then profile.
import { readClientVariables, UsageError } from '../../config.ts';
import { JSON_FLAG, type CommandLine, type Flag } from '../command.ts';
import { checkProfileName, DEFAULT_PROFILE, profileNames, readProfile, type Profile } from '../profiles/profiles.ts';
import { nextCommand } from '../next-command.ts';

export const URL_DEFAULT = 'http://127.0.0.1:8383';
const URL_EXAMPLES = `${URL_DEFAULT} or https://hooks.example.com`;

/** Of every command that asks a service. */
export const CONNECTION_FLAGS = {
  url: {
    type: 'string',
    meaning: 'the service; else POSTRIDER_URL, the profile’s, or this machine',
    value: 'URL',
    default: URL_DEFAULT,
  },
  key: { type: 'string', meaning: 'API key; else POSTRIDER_API_KEY, or the profile’s', value: 'KEY' },
  profile: { type: 'string', meaning: 'what "postrider login" has remembered under this name', value: 'NAME' },
  json: { ...JSON_FLAG, meaning: 'print JSON, one object a line' },
} as const satisfies Record<string, Flag>;

/** `keyFrom`: what gave the key, for messages. */
export type Connection = { url: string; key: string; keyFrom: string };

export class MissingKeyError extends UsageError {}

/** Throws UsageError, without a key MissingKeyError. `givenKey`: where --key also means something else. */
export function readConnection(line: CommandLine, givenKey: string | null = line.textOf('key')): Connection {
  const variables = readClientVariables();
  const named = line.textOf('profile');
  const [urlFrom, givenUrl] =
    line.textOf('url') === null ? ['POSTRIDER_URL', variables.url] : ['--url', line.textOf('url')];
  // Where nothing is left for it to say it is not read: a service's user may have no home that it can read.
  const isSaid = named === null && givenUrl !== null && (givenKey ?? variables.key) !== null;
  const profile = isSaid ? null : readNamedProfile(named);
  // A profile that is named on the line means its own service, whatever the environment says.
  const isOwn = named !== null && urlFrom !== '--url';
  const url = (isOwn ? null : readUrl(urlFrom, givenUrl)) ?? profile?.url ?? URL_DEFAULT;
  if (givenKey !== null) return { url, key: readKey('--key', givenKey), keyFrom: '--key' };
  if (named === null && variables.key !== null) {
    return { url, key: readKey('POSTRIDER_API_KEY', variables.key), keyFrom: 'POSTRIDER_API_KEY' };
  }
  // A key is for the service that it was given for: it is not shown to another.
  if (profile !== null && profile.url === url) {
    return { url, key: profile.key, keyFrom: `the profile "${named ?? DEFAULT_PROFILE}"` };
  }
  const why = profile === null ? '' : `, for the profile’s key is for ${profile.url}`;
  throw new MissingKeyError(
    `no API key for ${url}${why}: give --key, set POSTRIDER_API_KEY, or run "${nextCommand('login')}"`,
  );
}

function readNamedProfile(named: string | null): Profile | null {
  if (named === null) return readProfile(DEFAULT_PROFILE);
  const profile = readProfile(checkProfileName(named));
  if (profile !== null) return profile;
  const known = profileNames();
  const others = known.length === 0 ? 'there are none yet' : `there are ${known.join(', ')}`;
  throw new UsageError(
    `--profile: there is no profile "${named}" (${others}); ${nextCommand(`login --profile ${named}`)}`,
  );
}

/** Without a slash at the end, so that equal ones are equal. */
export function readUrl(from: string, text: string, example?: string): string;
export function readUrl(from: string, text: string | null | undefined): string | null;
export function readUrl(from: string, text: string | null | undefined, example = URL_EXAMPLES): string | null {
  if (text == null) return null;
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '' || url.hash !== '') {
    throw new UsageError(`${from}: "${text}" is not where a service is; write ${example}`);
  }
  return url.href.replace(/\/+$/, '');
}

/** The text itself is not repeated: messages end in logs. */
export function readKey(from: string, text: string): string {
  if (/^pr_(test|live)_[\x21-\x7e]+$/.test(text)) return text;
  throw new UsageError(`${from}: not an API key; they look like pr_test_ or pr_live_ and 36 letters and digits`);
}

export function isLiveKey(key: string): boolean {
  return key.startsWith('pr_live_');
}
