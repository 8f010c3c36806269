// Takes events as the service accepts them and posts them to a URL on this machine, signed as a destination gets them:
// a receiver can be written before anybody can reach it. Changes nothing on the server.
import { bodyTextOf } from '../../../sdk/typescript/src/json-text.ts';
import { UsageError } from '../../config.ts';
import { findPatternFault } from '../../model/event-type.ts';
import { systemClock } from '../../runtime/clock.ts';
import { systemRandom } from '../../runtime/random.ts';
import { isLiveKey } from '../api/connection.ts';
import { partsOf } from '../command.ts';
import { serviceCommand, type Asking } from '../api/service-command.ts';
import { nextEnd } from '../end.ts';
import { createLink } from '../live/link.ts';
import { ListenSession } from './session.ts';

export const listenCommand = serviceCommand(
  {
    name: 'listen',
    summary: 'Post events to a URL on this machine as they are accepted',
    usage: ["listen --forward-to URL [--types 'order.**'] [--print-bodies]"],
    examples: [
      'listen --forward-to http://127.0.0.1:3000/webhooks',
      "listen --forward-to localhost:3000 --types 'order.**' --print-bodies",
    ],
    flags: {
      'forward-to': { type: 'string', meaning: 'where to post them; required', value: 'URL' },
      types: {
        type: 'string',
        meaning: 'only these event types or patterns of types, comma-separated',
        value: 'TYPES',
        default: '**',
        param: 'event_type',
      },
      'print-bodies': { type: 'boolean', meaning: 'print the body of each event' },
      live: { type: 'boolean', meaning: 'also with a live key: what customers get comes here too' },
    },
  },
  listen,
);

async function listen(asking: Asking): Promise<void> {
  const { client, line, connection } = asking;
  const url = readTarget(line.textOf('forward-to'));
  const types = readTypes(line.textOf('types') ?? '**');
  if (isLiveKey(connection.key) && !line.has('live')) {
    throw new UsageError('this is a live key: real events would come to this machine. If you mean it, say --live');
  }
  const stop = new AbortController();
  void nextEnd().then(() => stop.abort());
  const secret = `whsec_${systemRandom.bytes(32).toBase64()}`;
  const session = new ListenSession(asking, { url, secret, types, stop, startedAt: systemClock.now() });
  const link = createLink(connection, 'events list', () => session.greet());
  // Of several the service can be asked for all only.
  const query = { kinds: ['event'] as const, bodies: true, ...(types.length === 1 ? { event_type: types[0]! } : {}) };
  for await (const message of client.stream(query, { signal: stop.signal, ...link.callbacks })) {
    if (message.kind === 'gap') await session.catchUp(link.explainGap(message.data.missed));
    else if (message.kind === 'event') {
      link.heard(message);
      await session.take(message.data, message.data.body == null ? null : bodyTextOf(message.json));
    }
  }
  await session.end();
}

function readTarget(text: string | null): URL {
  if (text === null)
    throw new UsageError('--forward-to is missing: where your receiver is, such as --forward-to localhost:3000');
  const hasScheme = /^[a-z][a-z\d+.-]*:\/\//i.test(text);
  const url = URL.parse(hasScheme ? text : `http://${/^\d+(\/|$)/.test(text) ? 'localhost:' : ''}${text}`);
  if (url !== null && /^https?:$/.test(url.protocol) && url.hostname !== '' && url.username === '') return url;
  throw new UsageError(`--forward-to: "${text}" is no URL of a receiver; write http://127.0.0.1:3000/webhooks`);
}

function readTypes(text: string): string[] {
  const types = partsOf(text);
  for (const type of types) {
    const fault = findPatternFault(type);
    if (fault !== null) throw new UsageError(`--types: "${type}": ${fault}`);
  }
  return types;
}
