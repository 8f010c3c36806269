// What a person sees when the service has started: the address, and at the first start the key and a first hour.
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { VERSION } from '../config.ts';

const RECEIVER_PORT = 8384;

/** `keys`: those just made, shown this once; empty at any later start. */
export function welcome(options: {
  baseUrl: string;
  keys: readonly { mode: string; key: string }[];
  signInLink: string | null;
  testSubnets: readonly string[];
}): string {
  const { baseUrl, keys, signInLink, testSubnets } = options;
  const testKey = keys.find(({ mode }) => mode === 'test')?.key;
  const lines = [`Postrider ${VERSION} is listening on ${baseUrl}`];
  if (signInLink !== null) {
    lines.push('', 'The dashboard, by a link that signs in once (10 minutes, on this machine):', `  ${signInLink}`);
  }
  if (testKey === undefined) return `${lines.join('\n')}\n`;
  for (const { mode, key } of keys) lines.push('', `Your ${mode} key, shown this once:`, `  ${key}`);
  if (keys.length === 1) lines.push('', 'For a live key:', `  ${programName()} keys create --mode live`);
  lines.push('', ...firstSteps(baseUrl, testKey));
  if (!testSubnets.some((subnet) => subnet.startsWith('127.'))) {
    lines.push('Destinations on this machine need a start with POSTRIDER_TEST_SUBNETS=127.0.0.0/8,::1/128');
  }
  lines.push('');
  return `${lines.join('\n')}\n`;
}

/** Shell lines that show an event to a receiver on this machine, as the quick start does. */
function firstSteps(baseUrl: string, key: string): string[] {
  const program = programName();
  return [
    'To see a first event, type these one after the other in a second terminal:',
    '',
    `${program} login --url ${baseUrl} --key ${key}`,
    `${program} receive &`,
    `${program} listen --forward-to http://127.0.0.1:${RECEIVER_PORT}/ &`,
    `${program} trigger order.paid`,
    '',
    'docs/guides/quick-start.md goes on from there.',
  ];
}

/** How to call this program from where the user is. */
function programName(): string {
  const path = relative(process.cwd(), fileURLToPath(new URL('../../bin/postrider', import.meta.url)));
  return path.startsWith('..') ? fileURLToPath(new URL('../../bin/postrider', import.meta.url)) : path;
}
