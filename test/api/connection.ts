// A connection to the API as bytes: for what no client would send.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export type Response = { status: number; headers: Map<string, string>; body: string };

/** Collects what comes back. */
export class Connection {
  readonly socket: Socket;
  #received = '';

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.setEncoding('latin1');
    this.socket.on('data', (text: string) => (this.#received += text));
    this.socket.on('error', () => {});
  }

  /** Writes, and resolves when it is on its way; also if the other side has gone. */
  async send(bytes: string | Buffer): Promise<void> {
    await new Promise((resolve) => this.socket.write(bytes, resolve));
  }

  /** The next response, as soon as it is whole. */
  async response(): Promise<Response> {
    for (;;) {
      const response = this.#take();
      if (response !== null) return response;
      assert.ok(!this.socket.destroyed && !this.socket.readableEnded, `closed after: ${this.#received}`);
      const waiting = new AbortController();
      const changes = ['data', 'close', 'end'].map((name) => once(this.socket, name, { signal: waiting.signal }));
      await Promise.race(changes).finally(() => waiting.abort());
    }
  }

  async closed(): Promise<void> {
    if (!this.socket.closed) await once(this.socket, 'close');
  }

  #take(): Response | null {
    const headEnd = this.#received.indexOf('\r\n\r\n');
    if (headEnd === -1) return null;
    const [statusLine, ...lines] = this.#received.slice(0, headEnd).split('\r\n');
    const headers = new Map(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
    );
    const end = headEnd + 4 + Number(headers.get('content-length') ?? 0);
    if (this.#received.length < end) return null;
    const body = this.#received.slice(headEnd + 4, end);
    this.#received = this.#received.slice(end);
    return { status: Number(statusLine!.split(' ')[1]), headers, body };
  }
}
