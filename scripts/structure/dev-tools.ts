// As much of the Chrome DevTools Protocol as counting functions needs, for a process and its worker threads.
import { fileURLToPath } from 'node:url';

type Message = { id?: number; method?: string; params?: unknown; result?: unknown; error?: { message: string } };
type Send = (method: string, params?: unknown) => Promise<unknown>;
type Coverage = {
  result: { url: string; functions: { ranges: { startOffset: number; count: number }[] }[] }[];
};

export type CoveredFunction = { file: string; calls: number };

export class DevTools {
  readonly #socket: WebSocket;
  /** The process's own thread first, then its worker threads. */
  readonly #threads: Thread[] = [];
  readonly #bySession = new Map<string, Thread>();

  static async connect(url: string): Promise<DevTools> {
    const socket = new WebSocket(url);
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve);
      socket.addEventListener('error', reject);
    });
    return new DevTools(socket);
  }

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    const main = new Thread((text) => socket.send(text));
    this.#threads.push(main);
    socket.addEventListener('message', ({ data }) => this.#take(main, JSON.parse(String(data)) as Message));
  }

  #take(main: Thread, message: Message): void {
    const params = message.params as { sessionId: string; message: string };
    if (message.method === 'NodeWorker.attachedToWorker') this.#attach(main, params.sessionId);
    else if (message.method === 'NodeWorker.receivedMessageFromWorker') {
      this.#bySession.get(params.sessionId)?.take(JSON.parse(params.message) as Message);
    } else main.take(message);
  }

  #attach(main: Thread, sessionId: string): void {
    const thread = new Thread((message) => void main.send('NodeWorker.sendMessageToWorker', { sessionId, message }));
    this.#bySession.set(sessionId, thread);
    this.#threads.push(thread);
  }

  async startCoverage(): Promise<void> {
    await this.#threads[0]!.send('NodeWorker.enable', { waitForDebuggerOnStart: false });
    for (const { send } of this.#threads) {
      await send('Profiler.enable');
      await send('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    }
  }

  /** The functions of src/ that ran since the last call, in any thread, by where they begin; the counts begin anew. */
  async takeCoverage(): Promise<Map<string, CoveredFunction>> {
    const found = new Map<string, CoveredFunction>();
    for (const { send } of this.#threads) {
      const { result } = (await send('Profiler.takePreciseCoverage')) as Coverage;
      for (const { url, functions } of result) {
        if (!url.startsWith('file:') || !url.includes('/src/') || url.includes('node_modules')) continue;
        const file = fileURLToPath(url).replace(/^.*\/src\//, 'src/');
        for (const { ranges } of functions) {
          const { startOffset, count } = ranges[0]!;
          const place = `${file}:${startOffset}`;
          if (count > 0) found.set(place, { file, calls: count + (found.get(place)?.calls ?? 0) });
        }
      }
    }
    return found;
  }

  close(): void {
    this.#socket.close();
  }
}

class Thread {
  readonly #write: (text: string) => void;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #lastId = 0;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  readonly send: Send = (method, params = {}) => {
    const id = ++this.#lastId;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(id, waiting);
    this.#write(JSON.stringify({ id, method, params }));
    return waiting.promise;
  };

  take({ id, result, error }: Message): void {
    const waiting = this.#waiting.get(id ?? -1);
    if (error !== undefined) waiting?.reject(new Error(error.message));
    else waiting?.resolve(result);
  }
}
