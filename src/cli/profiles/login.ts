// Remembers a service and a key under a name, once the service has taken the key.
import { readClientVariables, UsageError } from '../../config.ts';
import { askService } from '../api/ask-service.ts';
import { CONNECTION_FLAGS, isLiveKey, readKey, readUrl, URL_DEFAULT, type Connection } from '../api/connection.ts';
import { CommandFailure, type Command, type CommandLine } from '../command.ts';
import { printJson, say } from '../output.ts';
import { readAll } from '../input/standard-input.ts';
import { readHidden } from './hidden-prompt.ts';
import { checkProfileName, DEFAULT_PROFILE, profilesFile, saveProfile } from './profiles.ts';

export const loginCommand: Command = {
  name: 'login',
  summary: 'Remember a service and an API key for all commands',
  usage: ['login [--url URL] [--profile NAME] [--key KEY | --key -]'],
  examples: ['login', 'login --url https://hooks.example.com --profile production', 'login --key - < key.txt'],
  flags: {
    ...CONNECTION_FLAGS,
    url: { ...CONNECTION_FLAGS.url, meaning: 'where the service is; else POSTRIDER_URL, or this machine' },
    key: { ...CONNECTION_FLAGS.key, meaning: 'API key; "-" reads it from standard input; without it you are asked' },
    profile: { ...CONNECTION_FLAGS.profile, meaning: 'name to remember it under', default: DEFAULT_PROFILE },
  },
  run: login,
};

async function login(line: CommandLine): Promise<void> {
  const name = checkProfileName(line.textOf('profile') ?? DEFAULT_PROFILE);
  const url =
    readUrl('--url', line.textOf('url')) ?? readUrl('POSTRIDER_URL', readClientVariables().url) ?? URL_DEFAULT;
  const [keyFrom, text] = await keyOf(line, url);
  const key = readKey(keyFrom, text.trim());
  await checkKey({ url, key, keyFrom });
  saveProfile(name, { url, key });
  const mode = isLiveKey(key) ? 'live' : 'test';
  if (line.has('json')) await printJson({ profile: name, url, mode, file: profilesFile() });
  else await say(`${url} with this ${mode} key is the profile "${name}", kept in ${profilesFile()}`);
}

/** What gave it, for messages, and its text. */
async function keyOf(line: CommandLine, url: string): Promise<[from: string, text: string]> {
  const given = line.textOf('key');
  if (given === '-') return ['standard input', await readAll('--key')];
  if (given !== null) return ['--key', given];
  if (process.stdin.isTTY) return ['the prompt', await readHidden(`API key for ${url}: `)];
  throw new UsageError('--key is missing: give the key, or "--key -" to read it from standard input');
}

/** A key without the scope to read is one all the same. */
async function checkKey(connection: Connection): Promise<void> {
  await askService(connection, null, async (client, { ForbiddenError }) => {
    try {
      await client.destinations.list({ limit: 1 }).page();
    } catch (error) {
      if (!(error instanceof ForbiddenError)) throw error;
    }
  }).catch((error: unknown) => {
    if (error instanceof CommandFailure) throw new CommandFailure(`${error.message}\nNothing was remembered.`);
    throw error;
  });
}
