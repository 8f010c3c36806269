// The load: sends requests over plain sockets. Requests are made once and written as they are; only the time in
// them changes, where they have one.
import { connect, type Socket } from 'node:net';
import { createMessageReader } from './http-reader.ts';
import { formatStamp, LatencyHistogram, sharedNow, STAMP_LENGTH } from './latencies.ts';
import { serve, type Commands, type Load, type LoadResult } from './protocol.ts';

const STAMP_PLACE = '{at}';
/** An open loop that the service cannot keep up with: more would only fill memory. */
const CONNECTIONS_MAX = 4_000;
const TICK_MS = 1;

type Request = { bytes: Buffer; stampAt: number };
type OnAnswer = (connection: Connection, status: string) => void;

class Tally {
  readonly latencies = new LatencyHistogram();
  readonly statuses: Record<string, number> = {};
  answered = 0;

  note(status: string, ms: number): void {
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
    this.latencies.record(ms);
    this.answered++;
  }
}

/** One request at a time. A socket that closes counts the request as `closed` and is opened anew for the next. */
class Connection {
  readonly #address: { host: string; port: number };
  readonly #onAnswer: OnAnswer;
  #socket: Socket | null = null;
  isBusy = false;
  startedAt = 0;

  constructor(address: { host: string; port: number }, onAnswer: OnAnswer) {
    this.#address = address;
    this.#onAnswer = onAnswer;
  }

  send(request: Request, dueAt: number): void {
    this.isBusy = true;
    this.startedAt = dueAt;
    this.#socket ??= this.#open();
    this.#socket.write(request.stampAt < 0 ? request.bytes : stamped(request, dueAt));
  }

  close(): void {
    this.#socket?.destroy();
  }

  #open(): Socket {
    const socket = connect({ ...this.#address, noDelay: true });
    const read = createMessageReader((message) => this.#end(message.toString('latin1', 9, 12)));
    socket.on('data', read);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#socket = null;
      if (this.isBusy) this.#end('closed');
    });
    return socket;
  }

  #end(status: string): void {
    this.isBusy = false;
    this.#onAnswer(this, status);
  }
}

function stamped({ bytes, stampAt }: Request, dueAt: number): Buffer {
  const copy = Buffer.from(bytes);
  copy.write(formatStamp(dueAt), stampAt, 'latin1');
  return copy;
}

/** The nth of a load's connections. */
function connectionOf({ host, ports }: Load, nth: number, onAnswer: OnAnswer): Connection {
  return new Connection({ host, port: ports[nth % ports.length]! }, onAnswer);
}

function requestsOf({ host, path, key, bodies }: Load): Request[] {
  return bodies.map((template) => {
    const start = (method: string): string =>
      `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${key}\r\n`;
    if (template === null) return { bytes: Buffer.from(`${start('GET')}\r\n`), stampAt: -1 };
    const body = Buffer.from(template.replace(STAMP_PLACE, '0'.repeat(STAMP_LENGTH)));
    const head = `${start('POST')}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    const at = template.indexOf(STAMP_PLACE);
    const stampAt = at < 0 ? -1 : Buffer.byteLength(head) + Buffer.byteLength(template.slice(0, at));
    return { bytes: Buffer.concat([Buffer.from(head), body]), stampAt };
  });
}

async function runClosed({ load, requests }: Commands['closed']): Promise<LoadResult> {
  const tally = new Tally();
  const all = requestsOf(load);
  const { promise, resolve } = Promise.withResolvers<void>();
  const startedAt = sharedNow();
  let sent = 0;
  const sendNext = (connection: Connection): void => connection.send(all[sent++ % all.length]!, sharedNow());
  const connections = Array.from({ length: Math.min(load.connections, requests) }, (_, nth) => {
    return connectionOf(load, nth, (connection, status) => {
      tally.note(status, sharedNow() - connection.startedAt);
      if (sent < requests) sendNext(connection);
      else if (tally.answered === requests) resolve();
    });
  });
  for (const connection of connections) sendNext(connection);
  await promise;
  for (const connection of connections) connection.close();
  return resultOf(tally, startedAt);
}

async function runOpen({ load, perSecond, seconds }: Commands['open']): Promise<LoadResult> {
  const tally = new Tally();
  const all = requestsOf(load);
  const total = Math.round(perSecond * seconds);
  const idle: Connection[] = [];
  const connections: Connection[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const onAnswer = (connection: Connection, status: string): void => {
    tally.note(status, sharedNow() - connection.startedAt);
    idle.push(connection);
    if (tally.answered === total) resolve();
  };
  for (let nth = 0; nth < load.connections; nth++) idle.push(connectionOf(load, nth, onAnswer));
  connections.push(...idle);
  const take = (): Connection | null => {
    const free = idle.pop();
    if (free !== undefined || connections.length >= CONNECTIONS_MAX) return free ?? null;
    const fresh = connectionOf(load, connections.length, onAnswer);
    connections.push(fresh);
    return fresh;
  };
  const startedAt = sharedNow();
  let sent = 0;
  const timer = setInterval(() => {
    // The first is due at the very start.
    const due = Math.min(total, 1 + Math.floor(((sharedNow() - startedAt) * perSecond) / 1000));
    // One that finds no connection keeps its due time: the wait counts, as it would for a caller.
    while (sent < due) {
      const free = take();
      if (free === null) break;
      free.send(all[sent % all.length]!, startedAt + (sent * 1000) / perSecond);
      sent++;
    }
    if (sent === total) clearInterval(timer);
  }, TICK_MS);
  await promise;
  for (const connection of connections) connection.close();
  return resultOf(tally, startedAt);
}

function resultOf({ answered, statuses, latencies }: Tally, startedAt: number): LoadResult {
  return { seconds: (sharedNow() - startedAt) / 1000, requests: answered, statuses, latencies: latencies.read() };
}

serve({ closed: runClosed, open: runOpen });
