// Calls across threads: one message each way per call, however many rows it is about. Calls that wait at the same time
// may share a transaction.
import { receiveMessageOnPort, type MessagePort, type Transferable, type Worker } from 'node:worker_threads';
import { LinkedMap } from '../../../runtime/linked-map.ts';
import { StoreError, type StoreErrorCode } from '../../store.ts';
import type { Runner } from '../methods.ts';
import { packParameters, unpackResult } from './packing.ts';

export type Request = { id: number; method: string; parameters: unknown[] };

type Response = { id: number; result: unknown } | { id: number; error: ErrorMessage };

/** A result, and what of it may be moved instead of copied. */
export type Answer = { result: unknown; transfer: Transferable[] };

/** What is left of an error on its way; `code` null: not the store's own, a programming error. */
type ErrorMessage = { code: StoreErrorCode | null; message: string; cause: string };

/** The first call: answered when the thread can serve, or with the error that keeps it from that. */
const OPEN = 'open';
/** The last call, after all others: the thread ends instead of an answer. */
const CLOSE = 'close';

// ── The main thread's end ──

type Call = { method: string; resolve: (result: unknown) => void; reject: (error: Error) => void };

/** Runs queries on another thread, by their names. */
export class ThreadClient<Context = never> implements Runner<Context> {
  readonly worker: Worker;
  #calls = new LinkedMap<number, Call>();
  #lastId = 0;
  #failure: Error | null = null;

  constructor(worker: Worker) {
    this.worker = worker;
    worker.on('message', (response: Response) => this.#answer(response));
  }

  run<Parameters extends unknown[], Result>(
    query: (context: Context, ...parameters: Parameters) => Result,
    ...parameters: Parameters
  ): Promise<Result> {
    return this.#call(query.name, parameters) as Promise<Result>;
  }

  open(): Promise<unknown> {
    return this.#call(OPEN, []);
  }

  /** What was asked before is answered; the worker's 'exit' says when it is done. */
  sendClose(): void {
    this.worker.postMessage({ id: 0, method: CLOSE, parameters: [] } satisfies Request, []);
  }

  /** Rejects everything under way and to come. */
  fail(error: Error): void {
    this.#failure = error;
    for (const call of this.#calls.values()) call.reject(error);
    this.#calls = new LinkedMap();
  }

  #call(method: string, given: unknown[]): Promise<unknown> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      const { parameters, transfer } = packParameters(method, given);
      // Throws for what cannot be cloned: a programming error, which rejects the promise.
      this.worker.postMessage({ id, method, parameters } satisfies Request, transfer);
      this.#calls.set(id, { method, resolve, reject });
    });
  }

  #answer(response: Response): void {
    const call = this.#calls.get(response.id);
    if (call === undefined) return;
    this.#calls.delete(response.id);
    if ('error' in response) call.reject(decodeError(response.error));
    else call.resolve(unpackResult(call.method, response.result));
  }
}

// ── The other thread's end ──

/** What a thread does between its first call and its last. After `close` nothing may keep its event loop alive. */
export type ThreadService = {
  run(request: Request): Answer;
  /** Where several requests may be run as one: all or none of them; `run` throws for none. */
  joining?: { mayJoin(method: string): boolean; run(requests: Request[]): Answer[] };
  /** What may take time and nobody should wait for: called when the answers to all that waited are on their way. */
  afterRun(): void;
  close(): void;
};

const NOTHING: Answer = { result: null, transfer: [] };

/** How many requests are taken from the port before the first of them is run. */
const WAITING_TAKEN_MAX = 8;

/** Answers requests in the order they come; those that wait side by side and may join are run together. */
export function serveThread(port: MessagePort, open: () => ThreadService): void {
  let service: ThreadService | null = null;

  const run = (request: Request): Answer => {
    if (request.method === OPEN) service = open();
    else if (request.method !== CLOSE) return service!.run(request);
    else {
      service?.close();
      service = null;
      port.close();
    }
    return NOTHING;
  };

  const answerOne = (request: Request): void => {
    let answer: Answer;
    try {
      answer = run(request);
    } catch (error) {
      port.postMessage({ id: request.id, error: encodeError(error) } satisfies Response, []);
      return;
    }
    port.postMessage({ id: request.id, result: answer.result } satisfies Response, answer.transfer);
  };

  const answerTogether = (requests: Request[]): void => {
    let answers: Answer[];
    try {
      answers = service!.joining!.run(requests);
    } catch {
      // One of them failed, and none was done: alone, only that one will fail.
      for (const request of requests) answerOne(request);
      return;
    }
    for (const [i, { result, transfer }] of answers.entries()) {
      port.postMessage({ id: requests[i]!.id, result } satisfies Response, transfer);
    }
  };

  port.on('message', (first: Request) => {
    const waiting = [first];
    while (waiting.length < WAITING_TAKEN_MAX) {
      const next = receiveMessageOnPort(port);
      if (next === undefined) break;
      waiting.push(next.message as Request);
    }
    while (waiting.length > 0) {
      const end = waiting.findIndex(({ method }) => service?.joining?.mayJoin(method) !== true);
      const joining = waiting.splice(0, end < 0 ? waiting.length : end);
      if (joining.length > 1) answerTogether(joining);
      else answerOne(joining[0] ?? waiting.shift()!);
    }
    service?.afterRun();
  });
}

function encodeError(error: unknown): ErrorMessage {
  if (!(error instanceof Error)) return { code: null, message: String(error), cause: '' };
  const code = error instanceof StoreError ? error.code : null;
  const cause = error.cause instanceof Error ? error.cause.stack : error.stack;
  return { code, message: error.message, cause: cause ?? '' };
}

function decodeError({ code, message, cause }: ErrorMessage): Error {
  // The other thread's stack is for the log; this side's would only show the message loop.
  const origin = new Error(cause.split('\n', 1)[0]);
  origin.stack = cause;
  return code === null ? new Error(message, { cause: origin }) : new StoreError(code, message, { cause: origin });
}
