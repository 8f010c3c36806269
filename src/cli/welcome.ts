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
  lines.push('', ...firstSteps(baseUrl, testKey, testSubnets), '');
  return `${lines.join('\n')}\n`;
}

/** Shell lines that deliver an event to a receiver on this machine, pasted one after the other. */
function firstSteps(baseUrl: string, key: string, testSubnets: readonly string[]): string[] {
  if (!testSubnets.some((subnet) => subnet.startsWith('127.'))) {
    return ['To try it with a receiver on this machine, start it with', '  POSTRIDER_TEST_SUBNETS=127.0.0.0/8,::1/128'];
  }
  return [
    'To see a first event delivered, paste this into a second terminal:',
    '',
    `ready() { until curl -s http://127.0.0.1:${RECEIVER_PORT}/; do sleep 1; done; }`,
    `${programName()} receive & ready`,
    `URL=${baseUrl}/v1 KEY=${key}`,
    `post() { curl -sS "$URL/$1" -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d "$2"; echo; }`,
    `get() { curl -sS "$URL/$1" -H "Authorization: Bearer $KEY"; echo; }`,
    `value_of() { sed -n 's/.*"'"$1"'":"\\([^"]*\\)".*/\\1/p'; }`,
    `MADE=$(post destinations '{"url":"http://127.0.0.1:${RECEIVER_PORT}/"}')`,
    `DESTINATION=$(echo "$MADE" | value_of id) SECRET=$(echo "$MADE" | value_of signing_secret)`,
    `post subscriptions '{"destination_id":"'$DESTINATION'","event_type":"order.*"}'`,
    `EVENT=$(post events '{"type":"order.paid","body":{"order":1,"total":"9.90"}}' | value_of event_id)`,
    `get events/$EVENT`,
  ];
}

/** How to call this program from where the user is. */
function programName(): string {
  const path = relative(process.cwd(), fileURLToPath(new URL('../../bin/postrider', import.meta.url)));
  return path.startsWith('..') ? fileURLToPath(new URL('../../bin/postrider', import.meta.url)) : path;
}
