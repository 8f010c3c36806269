// What happens in the service, as it happens, for as long as somebody reads: a connection that breaks is opened again
// where it was, and what was missed meanwhile shows as a `gap`.
import { sleep } from './deadline.ts';
import { ApiError, ConnectionError, UnexpectedAnswerError, type PostriderError } from './errors.ts';
import { delayMsOf } from './retries.ts';
import { ServerSentEvents, type ServerSentEvent } from './server-sent-events.ts';
import type { QueryOf, Schema } from './shapes.ts';
import type { Transport } from './transport.ts';

export type StreamQuery = Omit<QueryOf<'stream'>, 'cursor' | 'kinds' | 'bodies'> & {
  kinds?: readonly ('event' | 'attempt' | 'delivery' | 'destination')[];
  /** Events with their bodies: those over 64 KiB as null, with `body_bytes`. */
  bodies?: boolean;
};

export type StreamedEvent = Schema<'Event'> & { body?: Record<string, unknown> | null; body_bytes?: number };

/** `json`: `data` as it came, with all digits of its numbers. */
export type StreamMessage = { id: string; json: string } & (
  | { kind: 'event'; data: StreamedEvent }
  | { kind: 'attempt'; data: Schema<'Attempt'> & { delivery_id: string } }
  | { kind: 'delivery'; data: Schema<'Delivery'> }
  | { kind: 'destination'; data: Schema<'Destination'> | { id: string; deleted: true } }
  /** Messages are missing here; null: nobody knows how many. */
  | { kind: 'gap'; data: { missed: number | null } }
);

export type StreamOptions = {
  /** Ends the stream; the loop over it ends without an error. */
  signal?: AbortSignal;
  /** Goes on after this message, of an earlier stream with the same query. */
  lastEventId?: string;
  /** Messages from now on come: called for the first connection and for each one after a break. */
  onConnect?: () => void;
  /** The connection broke; it is opened again after so long. */
  onDisconnect?: (error: PostriderError, retryInMs: number) => void;
};

/** A comment comes every 15 s; after three that did not come, nobody is there. */
const SILENCE_MS_MAX = 45_000;
const OPEN_MS_MAX = 30_000;
/** As many as the service can send again. */
const REMEMBERED_MAX = 10_000;
/** The first wait is short, the sixth and all after it long. */
const BACKOFF_STEPS_MAX = 6;

export class LiveStream {
  readonly #transport: Transport;
  readonly #call;
  readonly #options: StreamOptions;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  /** In a cluster the last second's messages come twice after a break. */
  readonly #seen = new Set<string>();
  #lastId: string | null;
  #failures = 0;

  constructor(transport: Transport, { kinds, ...query }: StreamQuery, options: StreamOptions) {
    const all = { ...query, kinds: kinds?.join(',') };
    this.#transport = transport;
    this.#call = { method: 'GET', path: '/v1/stream', query: all } as const;
    this.#options = options;
    this.#lastId = options.lastEventId ?? null;
    // The platform's fetch would say so of each request, as if nobody had answered it.
    if (!/^[\x20-\x7e]*$/.test(this.#lastId ?? '')) throw new TypeError('lastEventId is the id of a message');
    this.#signal =
      options.signal === undefined ? this.#stop.signal : AbortSignal.any([options.signal, this.#stop.signal]);
  }

  /**
   * Ended from outside, by `return` or `throw`, it ends at once, as at an abort: a generator by itself would first wait
   * for the message that its reader waits for, which may never come, and keep the connection.
   */
  messages(): AsyncGenerator<StreamMessage, void, undefined> {
    const messages = this.#run();
    const end = messages.return.bind(messages);
    const stop = (): ReturnType<typeof end> => {
      this.#stop.abort();
      return end();
    };
    const fail = async (error: unknown): Promise<never> => {
      await stop();
      throw error as Error;
    };
    return Object.assign(messages, { return: stop, throw: fail });
  }

  async *#run(): AsyncGenerator<StreamMessage, void, undefined> {
    try {
      for (let connections = 0; ; connections++) {
        const body = await this.#connect(connections > 0);
        // Without a message that it could go on after, the service does not know that this stream was open before.
        if (connections > 0 && this.#lastId === null) yield { id: '', ...gap() };
        yield* this.#read(body);
      }
    } catch (error) {
      if (!this.#signal.aborted) throw error;
    } finally {
      this.#stop.abort();
    }
  }

  async #connect(isReconnect: boolean): Promise<ReadableStream<Uint8Array>> {
    if (!isReconnect) {
      const body = await this.#transport.open(this.#call, this.#signal, OPEN_MS_MAX, this.#lastId);
      this.#options.onConnect?.();
      return body;
    }
    for (;;) {
      try {
        const body = await this.#transport.reopen(this.#call, this.#signal, OPEN_MS_MAX, this.#lastId);
        this.#options.onConnect?.();
        return body;
      } catch (error) {
        if (isFinal(error)) throw error;
        await this.#pause(error as PostriderError);
      }
    }
  }

  /** Yields what comes until the connection breaks. */
  async *#read(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamMessage, void, undefined> {
    const reader = body.getReader();
    const events = new ServerSentEvents();
    let broken: ConnectionError | null = null;
    try {
      while (broken === null) {
        const next = await this.#next(reader);
        if (next instanceof ConnectionError) broken = next;
        else for (const event of events.push(next)) yield* this.#take(event);
      }
    } finally {
      // A connection that is gone cannot be told so.
      await reader.cancel().catch(() => undefined);
    }
    await this.#pause(broken);
  }

  async #next(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array | ConnectionError> {
    let timeout: ReturnType<typeof setTimeout> | undefined;
    const silence = new Promise<never>((_, reject) => {
      timeout = setTimeout(() => reject(new Error(`silent for ${SILENCE_MS_MAX / 1000} s`)), SILENCE_MS_MAX);
    });
    try {
      const { value } = await Promise.race([reader.read(), silence]);
      if (value === undefined) return new ConnectionError('the stream ended');
      this.#failures = 0;
      return value;
    } catch (error) {
      this.#signal.throwIfAborted();
      return new ConnectionError('the stream broke', { cause: error });
    } finally {
      clearTimeout(timeout);
    }
  }

  *#take({ id, event, data }: ServerSentEvent): Generator<StreamMessage, void, undefined> {
    if (event !== 'gap') {
      if (this.#seen.has(id)) return;
      this.#remember(id);
    }
    this.#lastId = id;
    yield { id, kind: event, data: parse(data), json: data } as StreamMessage;
  }

  #remember(id: string): void {
    this.#seen.add(id);
    if (this.#seen.size <= REMEMBERED_MAX) return;
    const [oldest] = this.#seen;
    this.#seen.delete(oldest!);
  }

  async #pause(error: PostriderError): Promise<void> {
    const delayMs = delayMsOf(Math.min(this.#failures++, BACKOFF_STEPS_MAX), error);
    this.#options.onDisconnect?.(error, delayMs);
    await sleep(delayMs, this.#signal);
  }
}

function gap(): { kind: 'gap'; data: { missed: null }; json: string } {
  return { kind: 'gap', data: { missed: null }, json: '{"missed":null}' };
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    const message = 'the stream has a message that is no JSON; is the base URL that of Postrider?';
    throw new UnexpectedAnswerError(message, { status: 200 });
  }
}

/** A key that is revoked, a query that is refused: asking again would not help. */
function isFinal(error: unknown): boolean {
  return error instanceof ApiError && error.status < 500 && error.status !== 429 && error.status !== 408;
}
