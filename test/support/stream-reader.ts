// Reads a stream as a client does, over a socket of its own, and can stop reading.
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';

export type StreamMessage = { id: string; event: string; data: Record<string, unknown> };

export class StreamReader {
  readonly messages: StreamMessage[] = [];
  comments = 0;
  readonly #response: IncomingMessage;
  #text = '';
  #isOver = false;

  constructor(response: IncomingMessage) {
    this.#response = response;
    response.setEncoding('utf8');
    response.on('data', (text: string) => this.#take(text));
    response.on('error', () => {});
    response.on('close', () => (this.#isOver = true));
  }

  get headers(): IncomingMessage['headers'] {
    return this.#response.headers;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Resolves when the condition holds; looks again whenever something has come. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      if (this.#isOver) throw new Error(`the stream ended after ${JSON.stringify(this.messages)}`);
      const waiting = new AbortController();
      const changes = ['data', 'close'].map((name) => once(this.#response, name, { signal: waiting.signal }));
      await Promise.race(changes).finally(() => waiting.abort());
      // Those that lost the race.
      await Promise.allSettled(changes);
    }
  }

  /** The first `count` messages of this kind, or of all. */
  async first(count: number, kind?: string): Promise<StreamMessage[]> {
    const found = (): StreamMessage[] => this.messages.filter(({ event }) => kind === undefined || event === kind);
    await this.until(() => found().length >= count);
    return found().slice(0, count);
  }

  async ended(): Promise<void> {
    if (!this.#isOver) await once(this.#response, 'close');
  }

  stopReading(): void {
    this.#response.pause();
  }

  readOn(): void {
    this.#response.resume();
  }

  close(): void {
    this.#response.destroy();
  }

  #take(text: string): void {
    const blocks = (this.#text + text).split('\n\n');
    this.#text = blocks.pop()!;
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line]));
      if (fields.has('')) this.comments++;
      const valueOf = (name: string): string => fields.get(name)?.slice(name.length + 2) ?? '';
      if (!fields.has('data')) continue;
      const data = JSON.parse(valueOf('data')) as StreamMessage['data'];
      this.messages.push({ id: valueOf('id'), event: valueOf('event'), data });
    }
  }
}

/** `cookie`: of a session in test, in place of the key. */
export type OpenStream = { baseUrl: string; key: string; query?: string; lastId?: string; cookie?: string };

/** Resolves with the answer's head; the stream is open then if the status is 200. */
export async function requestStream({
  baseUrl,
  key,
  query = '',
  lastId,
  cookie,
}: OpenStream): Promise<IncomingMessage> {
  const caller = cookie === undefined ? { authorization: `Bearer ${key}` } : { cookie, 'postrider-mode': 'test' };
  const headers = { ...caller, ...(lastId === undefined ? {} : { 'last-event-id': lastId }) };
  const asked = request(`${baseUrl}/v1/stream${query === '' ? '' : `?${query}`}`, { headers, agent: false });
  asked.end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  return response;
}

/** Resolves when the stream is open: what happens from now on comes. */
export async function openStream(options: OpenStream): Promise<StreamReader> {
  const response = await requestStream(options);
  if (response.statusCode !== 200) throw new Error(`${response.statusCode}: ${await textOf(response)}`);
  return new StreamReader(response);
}

export async function textOf(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}
