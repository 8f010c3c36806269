// Calls across threads: one message each way per call, however many rows it is about. Calls that wait at the same time
// may share a transaction.
import { receiveMessageOnPort } from 'node:worker_threads';
import type { MessagePort, Transferable, Worker } from 'node:worker_threads';
import { StoreError } from '../../store.ts';
import type { StoreErrorCode } from '../../store.ts';

export type Request = { id: number; method: string; parameters: unknown[] };

export type Response = { id: number; result: unknown } | { id: number; error: ErrorMessage };

/** A result, and what of it may be moved instead of copied. */
export type Answer = { result: unknown; transfer: Transferable[] };

export interface RequestHandler {
  run(request: Request): Answer;
  /** Where several requests may be run as one: all or none of them; `run` throws for none. */
  joining?: { mayJoin(method: string): boolean; run(requests: Request[]): Answer[] } | undefined;
  /** What may take time and nobody should wait for: called when the answers to all that waited are on their way. */
  afterRun(): void;
}

/** What is left of an error on its way; `code` null: not the store's own, a programming error. */
type ErrorMessage = { code: StoreErrorCode | null; message: string; cause: string };

export interface ThreadClient {
  call(method: string, parameters: unknown[], transfer?: Transferable[]): Promise<unknown>;
  /** Rejects everything under way and to come. */
  fail(error: Error): void;
}

type Waiting = { resolve: (result: unknown) => void; reject: (error: Error) => void };

export function createThreadClient(worker: Worker): ThreadClient {
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let failure: Error | null = null;

  worker.on('message', (response: Response) => {
    const call = waiting.get(response.id);
    if (call === undefined) return;
    waiting.delete(response.id);
    if ('error' in response) call.reject(decodeError(response.error));
    else call.resolve(response.result);
  });

  return {
    call(method, parameters, transfer = []) {
      if (failure !== null) return Promise.reject(failure);
      return new Promise((resolve, reject) => {
        const id = ++lastId;
        // Throws for what cannot be cloned: a programming error, which rejects the promise.
        worker.postMessage({ id, method, parameters } satisfies Request, transfer);
        waiting.set(id, { resolve, reject });
      });
    },
    fail(error) {
      failure = error;
      for (const call of waiting.values()) call.reject(error);
      waiting.clear();
    },
  };
}

/** How many requests are taken from the port before the first of them is run. */
const WAITING_TAKEN_MAX = 8;

/** Answers requests in the order they come; those that wait side by side and may join are run together. */
export function serveRequests(port: MessagePort, handler: RequestHandler): void {
  const answerOne = (request: Request): void => {
    let answer: Answer;
    try {
      answer = handler.run(request);
    } catch (error) {
      port.postMessage({ id: request.id, error: encodeError(error) } satisfies Response, []);
      return;
    }
    port.postMessage({ id: request.id, result: answer.result } satisfies Response, answer.transfer);
  };

  const answerTogether = (requests: Request[]): void => {
    let answers: Answer[];
    try {
      answers = handler.joining!.run(requests);
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
      const end = waiting.findIndex(({ method }) => handler.joining?.mayJoin(method) !== true);
      const joining = waiting.splice(0, end < 0 ? waiting.length : end);
      if (joining.length > 1) answerTogether(joining);
      else answerOne(joining[0] ?? waiting.shift()!);
    }
    handler.afterRun();
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
