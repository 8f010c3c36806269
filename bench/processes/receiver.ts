// The other end: takes webhooks, counts them and answers as the first part of the path says:
//   /ok   200 at once     /hang   never     /500   500     /404   404     /slow   200 after 14 s
//   /far   200 after 50 ms     /flaky   500 to every twentieth     /stuck   never, and 200 once it is told to
// A name may follow, as in /ok-other: that is a group of its own, counted apart.
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { once } from 'node:events';
import { createMessageReader } from './http-reader.ts';
import { LatencyHistogram, sharedNow, STAMP_LENGTH } from './latencies.ts';
import { serve, type Arrivals, type ReceiverCommands } from './protocol.ts';

const SLOW_MS = 14_000;
const FAR_MS = 50;
const STAMP_NAME = '"at":"';
const PATH_START = 'POST /'.length;

/** What most receivers say, and no more. */
const answerWith = (status: string): Buffer =>
  Buffer.from(`HTTP/1.1 ${status}\r\ncontent-type: text/plain\r\ncontent-length: 2\r\nserver: bench\r\n\r\nok`);
const OK = answerWith('200 OK');
const FAILED = answerWith('500 Internal Server Error');
const NOT_FOUND = answerWith('404 Not Found');
const FLAKY_EVERY = 20;

let servers: Server[] = [];
const sockets = new Set<Socket>();
let isStuck = true;
let count = 0;
let connections = 0;
let firstAt = 0;
let lastAt = 0;
let groups = new Map<string, { count: number; firstAt: number; latencies: LatencyHistogram }>();
/** Latencies by second are kept for no longer than this. */
const SECONDS_MAX = 60;
let bySecond: { group: string; since: number; seconds: LatencyHistogram[] } | null = null;
let waiting: { isReached: () => boolean; resolve: () => void } | null = null;

function onConnection(socket: Socket): void {
  connections++;
  sockets.add(socket);
  socket.setNoDelay(true);
  socket.on('error', () => undefined);
  socket.on('close', () => sockets.delete(socket));
  socket.on(
    'data',
    createMessageReader((message, bodyStart) => answer(socket, note(message, bodyStart))),
  );
}

/** The request's group: the first part of its path. */
function note(message: Buffer, bodyStart: number): string {
  let end = PATH_START;
  for (; message[end] !== 0x20 && message[end] !== 0x2f; end++);
  const name = message.toString('latin1', PATH_START, end);
  let group = groups.get(name);
  if (group === undefined)
    groups.set(name, (group = { count: 0, firstAt: Date.now(), latencies: new LatencyHistogram() }));
  group.count++;
  const stamp = message.indexOf(STAMP_NAME, bodyStart, 'latin1');
  if (stamp > 0) {
    const at = stamp + STAMP_NAME.length;
    const sentAt = Number(message.toString('latin1', at, at + STAMP_LENGTH)) / 1000;
    if (sentAt > 0) noteLatency(name, group.latencies, sentAt);
  }
  if (count++ === 0) firstAt = Date.now();
  lastAt = Date.now();
  if (waiting !== null && waiting.isReached()) waiting.resolve();
  return name;
}

function noteLatency(name: string, latencies: LatencyHistogram, sentAt: number): void {
  const ms = sharedNow() - sentAt;
  latencies.record(ms);
  if (bySecond?.group !== name) return;
  const second = Math.max(0, Math.floor((sentAt - bySecond.since) / 1000));
  if (second >= SECONDS_MAX) return;
  while (bySecond.seconds.length <= second) bySecond.seconds.push(new LatencyHistogram());
  bySecond.seconds[second]!.record(ms);
}

function answer(socket: Socket, group: string): void {
  if (group.startsWith('ok')) socket.write(OK);
  else if (group.startsWith('500')) socket.write(FAILED);
  else if (group.startsWith('404')) socket.write(NOT_FOUND);
  else if (group.startsWith('slow')) setTimeout(() => socket.write(OK), SLOW_MS);
  else if (group.startsWith('far')) setTimeout(() => socket.write(OK), FAR_MS);
  else if (group.startsWith('stuck') && !isStuck) socket.write(OK);
  else if (group.startsWith('flaky')) socket.write(count % FLAKY_EVERY === 0 ? FAILED : OK);
}

async function listen({ tls, port, count: ports }: ReceiverCommands['listen']): Promise<number[]> {
  const bound: number[] = [];
  for (let i = 0; i < ports; i++) {
    const server = tls === null ? createServer(onConnection) : createTlsServer(tls, onConnection);
    server.listen({ port, host: '127.0.0.1', backlog: 4_096 });
    await once(server, 'listening');
    bound.push((server.address() as AddressInfo).port);
    servers.push(server);
  }
  return bound;
}

function refuse(): void {
  for (const server of servers) server.close();
  servers = [];
  for (const socket of sockets) socket.destroy();
}

function reset(request: ReceiverCommands['reset']): void {
  count = connections = firstAt = lastAt = 0;
  groups = new Map();
  bySecond = request === null ? null : { group: request.bySecond, since: sharedNow(), seconds: [] };
}

async function wait(request: ReceiverCommands['wait']): Promise<Arrivals> {
  const isReached = (): boolean =>
    (request.group === null ? count : (groups.get(request.group)?.count ?? 0)) >= request.count;
  if (!isReached()) {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting = { isReached, resolve };
    const timer = setTimeout(resolve, request.timeoutMs);
    await promise;
    clearTimeout(timer);
    waiting = null;
  }
  return read();
}

function read(): Arrivals {
  const entries = [...groups];
  return {
    count,
    connections,
    firstAt,
    lastAt,
    latencies: Object.fromEntries(entries.map(([name, group]) => [name, group.latencies.read()])),
    seconds: bySecond === null ? [] : bySecond.seconds.map((histogram) => histogram.read()),
    counts: Object.fromEntries(entries.map(([name, group]) => [name, group.count])),
    firsts: Object.fromEntries(entries.map(([name, group]) => [name, group.firstAt])),
  };
}

function free(): void {
  isStuck = false;
}

serve({ listen, refuse, reset, wait, read, free });
