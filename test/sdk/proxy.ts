// A proxy before a service that fails as it is told to, request by request, and then lets through.
import { once } from 'node:events';
import { createServer, request as ask, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Scope } from '../e2e/service.ts';

/** `lost`: the service gets it, and its answer gets lost. `torn`: half of its answer comes. */
export type Failure =
  | 'none'
  | 'cut'
  | 'lost'
  | 'torn'
  | 'hang'
  | { status: number; body: string; headers?: Record<string, string> };

export type Seen = { method: string; path: string; body: string; at: number; headers: IncomingMessage['headers'] };

export class Proxy {
  /** Where it leads. */
  target = '';
  /** Of the next requests, in turn. */
  failures: Failure[] = [];
  readonly seen: Seen[] = [];
  readonly #server = createServer((request, response) => void this.#take(request, response));

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async listen(): Promise<void> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
  }

  async close(): Promise<void> {
    this.cutAll();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** As when a network goes: whatever is open ends in the middle. */
  cutAll(): void {
    this.#server.closeAllConnections();
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = request;
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const body = Buffer.concat(pieces);
    this.seen.push({ method, path, body: body.toString(), at: Date.now(), headers });
    const failure = this.failures.shift();
    if (failure === 'hang') return;
    if (failure === 'cut') response.destroy();
    else if (typeof failure === 'object') response.writeHead(failure.status, failure.headers).end(failure.body);
    else this.#forward({ method, path, headers, body }, response, failure);
  }

  #forward(
    { method, path, headers, body }: Pick<Seen, 'method' | 'path' | 'headers'> & { body: Buffer },
    response: ServerResponse,
    failure: 'lost' | 'torn' | 'none' = 'none',
  ): void {
    const forwarded = ask(`${this.target}${path}`, { method, headers, agent: false }, (answer) => {
      answer.on('error', () => response.destroy());
      if (failure === 'lost') answer.resume().on('end', () => response.destroy());
      else {
        response.writeHead(answer.statusCode!, answer.headers);
        response.flushHeaders();
        if (failure === 'none') answer.pipe(response);
        else
          answer.once('data', (chunk: Buffer) => {
            response.write(chunk.subarray(0, chunk.length / 2), () => response.destroy());
          });
      }
    });
    forwarded.on('error', () => response.destroy());
    response.on('close', () => forwarded.destroy());
    forwarded.end(body);
  }
}

export async function startProxy(scope: Scope, target: string): Promise<Proxy> {
  const proxy = new Proxy();
  scope.after(() => proxy.close());
  await proxy.listen();
  proxy.target = target;
  return proxy;
}
