// A receiver down to the bytes: reads whole requests from TCP or TLS connections and lets a test answer with
// whatever it likes, HTTP or not, at once, slowly or never.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';

export type ReceivedRequest = {
  line: string;
  /** Names in lower case; a repeated one would show as joined by a comma. */
  headers: Record<string, string>;
  body: Buffer;
  /** The whole of it, as it came. */
  raw: Buffer;
  /** Which connection it came on, counting from 1. */
  connection: number;
};

export type Reply = (socket: Socket, request: ReceivedRequest) => unknown;

export interface Receiver {
  readonly port: number;
  readonly requests: ReceivedRequest[];
  readonly sockets: Socket[];
  /** Replaces what is done with a new connection, which is to read requests from it. */
  onConnection(serve: (socket: Socket) => void): void;
  /** Resolves when so many connections have come. */
  connected(count: number): Promise<void>;
  /** Resolves when every connection so far is closed. */
  allClosed(): Promise<void>;
  close(): Promise<void>;
}

export type Certificate = 'good' | 'expired' | 'other-host' | 'self-signed';

export function certificate(name: Certificate): { key: Buffer; cert: Buffer } {
  const path = (kind: string): URL => new URL(`certs/${name}.${kind}`, import.meta.url);
  return { key: readFileSync(path('key')), cert: readFileSync(path('crt')) };
}

export function testCa(): string {
  return readFileSync(new URL('certs/ca.crt', import.meta.url), 'utf8');
}

/** Containers often have none, not even on loopback. */
export function hasIPv6(): boolean {
  return Object.values(networkInterfaces()).some((all) => all!.some(({ address }) => address === '::1'));
}

/** The beginning of a response, as far as its body. */
export const head = (code: number, ...fields: string[]): string =>
  [`HTTP/1.1 ${code} X`, ...fields, '', ''].join('\r\n');
/** Some chunks of a body; an empty one ends it. */
export const chunked = (...chunks: string[]): string =>
  chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('');
export const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

/** Answers every request with `reply`, by default 200. */
export async function startReceiver(
  reply: Reply = (socket) => socket.write(OK),
  { tls, host = '127.0.0.1', port = 0 }: { tls?: TlsOptions; host?: string; port?: number } = {},
): Promise<Receiver> {
  const requests: ReceivedRequest[] = [];
  const sockets: Socket[] = [];
  const closed: Promise<void>[] = [];
  let serve = (socket: Socket): void => {
    const connection = sockets.length;
    readRequests(socket, (request) => {
      requests.push({ ...request, connection });
      reply(socket, requests.at(-1)!);
    });
  };
  const accept = (socket: Socket): void => {
    sockets.push(socket);
    closed.push(new Promise((resolve) => socket.once('close', () => resolve())));
    socket.on('error', () => {});
    serve(socket);
    server.emit('accepted');
  };
  const server: Server = tls === undefined ? createTcpServer(accept) : createTlsServer(tls, accept);
  if (tls !== undefined) server.on('tlsClientError', () => {});
  const transports: Socket[] = [];
  server.on('connection', (socket) => void transports.push(socket));
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    sockets,
    onConnection: (how) => void (serve = how),
    async connected(count) {
      while (sockets.length < count) await once(server, 'accepted');
    },
    allClosed: async () => void (await Promise.all(closed)),
    async close() {
      for (const socket of transports) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function readRequests(socket: Socket, take: (request: Omit<ReceivedRequest, 'connection'>) => void): void {
  let pending = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    for (;;) {
      const headEnd = pending.indexOf('\r\n\r\n');
      if (headEnd < 0) return;
      const { line, headers } = readHead(pending.toString('latin1', 0, headEnd));
      const end = headEnd + 4 + Number(headers['content-length'] ?? 0);
      if (pending.length < end) return;
      const raw = pending.subarray(0, end);
      pending = pending.subarray(end);
      take({ line, headers, body: raw.subarray(headEnd + 4), raw });
    }
  });
}

function readHead(text: string): { line: string; headers: Record<string, string> } {
  const [line = '', ...fields] = text.split('\r\n');
  const headers: Record<string, string> = {};
  for (const field of fields) {
    const colon = field.indexOf(':');
    const name = field.slice(0, colon).toLowerCase();
    const value = field.slice(colon + 1).trim();
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  return { line, headers };
}
