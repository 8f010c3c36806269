// The client's stream: what comes, and what breaks and restarts do to it. In a proxy's place a cluster's repeats are
// shown by a server that says what a service of several nodes would.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import {
  ConnectionError,
  Postrider,
  UnauthorizedError,
  UnexpectedAnswerError,
  type StreamMessage,
} from '../../sdk/typescript/src/postrider.ts';
import { Service } from '../e2e/service.ts';
import { Proxy } from './proxy.ts';

const service = new Service();
const proxy = new Proxy();
let client: Postrider;
before(async () => {
  await Promise.all([service.start(), proxy.listen()]);
  proxy.target = service.url;
  client = new Postrider({ apiKey: service.key, baseUrl: proxy.url });
});
after(() => Promise.all([proxy.close(), service.end()]));

const publish = (n: number) => client.events.publish({ type: 'streamed.once', body: { n } });

/** What a message is about, in short. */
function shortOf(message: StreamMessage | undefined): unknown {
  if (message?.kind === 'gap') return ['gap', message.data.missed];
  return message?.kind === 'event' ? message.data.body : message?.kind;
}

test('it goes on through broken connections and a restart, and says what it missed', async () => {
  let connected = Promise.withResolvers<void>();
  const breaks: string[] = [];
  const stream = client.stream(
    { kinds: ['event'], event_type: 'streamed.**', bodies: true },
    {
      onConnect: () => connected.resolve(),
      onDisconnect: ({ name }) => {
        breaks.push(name);
        connected = Promise.withResolvers();
      },
    },
  );
  let next = stream.next();
  await connected.promise;
  await publish(1);
  const first = (await next).value!;
  assert.deepEqual(shortOf(first), { n: 1 });
  assert.equal(first.json, JSON.stringify(first.data));

  // What happens while the connection is down comes after it.
  next = stream.next();
  proxy.failures = [{ status: 502, body: '' }];
  proxy.cutAll();
  await publish(2).catch(() => publish(2));
  assert.deepEqual(shortOf((await next).value!), { n: 2 });
  assert.ok(breaks.length > 0);
  const reconnected = proxy.seen.findLast(({ path }) => path.startsWith('/v1/stream'))!;
  assert.equal(reconnected.headers['last-event-id'], first.id);

  next = stream.next();
  await service.stop();
  await service.start();
  proxy.target = service.url;
  assert.deepEqual(shortOf((await next).value!), ['gap', null]);
  next = stream.next();
  await publish(3);
  assert.deepEqual(shortOf((await next).value!), { n: 3 });
  await stream.return();
});

test('a break before the first message is a gap too', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stream = client.stream({ event_type: 'nothing.happens' }, { onConnect: resolve });
  const next = stream.next();
  await promise;
  proxy.cutAll();
  assert.deepEqual(shortOf((await next).value!), ['gap', null]);
  await stream.return();
});

test('an abort ends the loop, and a refusal is thrown', async () => {
  const abort = new AbortController();
  for await (const _ of client.stream({}, { signal: abort.signal, onConnect: () => abort.abort() })) assert.fail();
  const stranger = new Postrider({ apiKey: 'pr_test_x', baseUrl: service.url });
  await assert.rejects(stranger.stream().next(), UnauthorizedError);
  await assert.rejects(stranger.stream({}, { lastEventId: 'msg_x' }).next(), UnauthorizedError);
});

test('who ends it while it waits gets no more of it', async () => {
  for (const end of ['return', 'throw'] as const) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stream = client.stream({ event_type: 'streamed.once' }, { onConnect: resolve });
    const next = stream.next();
    await promise;
    const ended =
      end === 'return' ? stream.return() : assert.rejects(stream.throw(new RangeError('enough')), RangeError);
    // What a stream that went on would wait for.
    await publish(1);
    assert.deepEqual(await next, { value: undefined, done: true });
    await ended;
  }
});

test('the first connection is given up, wherever it goes on', async () => {
  const away = new Postrider({ apiKey: service.key, baseUrl: 'http://127.0.0.1:1', maxRetries: 0 });
  for (const options of [{}, { lastEventId: 'msg_1' }]) {
    await assert.rejects(away.stream({}, options).next(), ConnectionError);
  }
  assert.throws(() => away.stream({}, { lastEventId: 'a\nb' }), TypeError);
});

describe('of a server that says', () => {
  /** What it writes to the first connection, the second, …; it ends all but the last. */
  async function read(count: number, ...connections: string[][]): Promise<unknown[]> {
    const asked: (string | undefined)[] = [];
    const server = createServer((request, response: ServerResponse) => {
      const pieces = connections[asked.length] ?? [];
      asked.push(request.headers['last-event-id'] as string | undefined);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const piece of pieces) response.write(piece);
      if (asked.length < connections.length) response.end();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const stream = new Postrider({ apiKey: 'x', baseUrl: `http://127.0.0.1:${port}` }).stream();
    const found: unknown[] = [];
    try {
      for await (const { id, kind, data } of stream) if (found.push([id, kind, data]) === count) break;
    } finally {
      server.closeAllConnections();
      server.close();
    }
    return [...found, asked.slice(1)];
  }
  const say = (id: string, n: number): string => `id: ${id}\nevent: event\ndata: {"n":${n}}\n\n`;

  test('what was said before, once more: repeats are dropped, gaps never', async () => {
    const gap = 'id: m2\nevent: gap\ndata: {"missed":3}\n\n';
    assert.deepEqual(
      await read(5, [say('m1', 1), say('m2', 2)], [gap, say('m1', 1), say('m2', 2), say('m3', 3), gap]),
      [
        ['m1', 'event', { n: 1 }],
        ['m2', 'event', { n: 2 }],
        ['m2', 'gap', { missed: 3 }],
        ['m3', 'event', { n: 3 }],
        ['m2', 'gap', { missed: 3 }],
        ['m2'],
      ],
    );
  });

  test('messages in pieces, with comments between', async () => {
    const text = `: hello\n\n:\n\n${say('m1', 1)}:\r\n\r\n${say('m2', 2).replaceAll('\n', '\r\n')}`;
    assert.deepEqual(await read(2, text.split('')), [['m1', 'event', { n: 1 }], ['m2', 'event', { n: 2 }], []]);
  });

  test('what is no JSON', async () => {
    await assert.rejects(read(1, ['event: event\ndata: hello\n\n']), UnexpectedAnswerError);
  });
});
