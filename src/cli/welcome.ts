// What a person sees when the service has started: the address, and at the first start the key and a first hour.
import { resolve } from 'node:path';
import { SETTINGS, VERSION, type Settings } from '../config.ts';
import { isInItsFolder, nextCommand, quote } from './next-command.ts';

const RECEIVER_PORT = 8384;

/** A line for each setting that lets through what is otherwise kept out: who starts the service may not have set it. */
export function describeOpenings(
  settings: Pick<Settings, 'TEST_SUBNETS' | 'ALLOW_SUBNETS' | 'REACHABILITY_CHECK'>,
): string[] {
  const { TEST_SUBNETS: test, ALLOW_SUBNETS: both, REACHABILITY_CHECK: check } = settings;
  return [
    ...(test.length === 0 ? [] : [`test-mode destinations may be in POSTRIDER_TEST_SUBNETS: ${test.join(', ')}`]),
    ...(both.length === 0 ? [] : [`destinations may be in POSTRIDER_ALLOW_SUBNETS, live ones too: ${both.join(', ')}`]),
    ...(check === 'on' ? [] : ['URLs of new destinations are not tried: POSTRIDER_REACHABILITY_CHECK is off']),
  ];
}

/** `keys`: those just made, shown this once; empty at any later start. */
export function welcome(options: {
  baseUrl: string;
  keys: readonly { mode: string; key: string }[];
  signInLink: string | null;
  settings: StoreSettings & Pick<Settings, 'TEST_SUBNETS'>;
}): string {
  const { baseUrl, keys, signInLink, settings } = options;
  const testKey = keys.find(({ mode }) => mode === 'test')?.key;
  const lines = [`Postrider ${VERSION} is listening on ${baseUrl}`];
  if (signInLink !== null) {
    lines.push('', 'The dashboard, by a link that signs in once (10 minutes, on this machine):', `  ${signInLink}`);
  }
  if (testKey === undefined) return `${lines.join('\n')}\n`;
  for (const { mode, key } of keys) lines.push('', `Your ${mode} key, shown this once:`, `  ${key}`);
  if (keys.length === 1) lines.push('', ...howToMakeLiveKey(settings));
  lines.push('', ...firstSteps(baseUrl, testKey));
  if (!settings.TEST_SUBNETS.some((subnet) => subnet.startsWith('127.'))) {
    lines.push('Destinations on this machine need a start with POSTRIDER_TEST_SUBNETS=127.0.0.0/8,::1/128');
  }
  lines.push('');
  return `${lines.join('\n')}\n`;
}

/** Shell lines that show an event to a receiver on this machine, as the quick start does. */
function firstSteps(baseUrl: string, key: string): string[] {
  return [
    'To see a first event, type these one after the other in a second terminal:',
    '',
    nextCommand(`login --url ${baseUrl} --key ${key}`),
    nextCommand('receive &'),
    nextCommand(`listen --forward-to http://127.0.0.1:${RECEIVER_PORT}/ &`),
    nextCommand('trigger order.paid'),
    '',
    'docs/guides/quick-start.md goes on from there.',
  ];
}

type StoreSettings = Pick<Settings, 'DATA_DIR' | 'DATABASE_URL'>;

/** In this service's own store: typed as it stands in another folder or terminal, it must not come to another's. */
function howToMakeLiveKey({ DATABASE_URL: databaseUrl, DATA_DIR: dataDir }: StoreSettings): string[] {
  const words = 'keys create --mode live';
  if (databaseUrl !== null) {
    const variables = 'POSTRIDER_DATABASE_URL and POSTRIDER_MASTER_KEY';
    return [`For a live key, with ${variables} as this service has them:`, `  ${nextCommand(words)}`];
  }
  const isFoundAlone = dataDir === SETTINGS.DATA_DIR.default && isInItsFolder();
  const place = isFoundAlone ? '' : ` --data-dir ${quote(resolve(dataDir))}`;
  return ['For a live key:', `  ${nextCommand(words)}${place}`];
}
