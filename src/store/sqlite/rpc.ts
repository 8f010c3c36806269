// Calls across threads: one message each way per call, however many rows it is about.
import type { MessagePort, Transferable, Worker } from 'node:worker_threads';
import { StoreError } from '../store.ts';
import type { StoreErrorCode } from '../store.ts';

export type Request = { id: number; method: string; parameters: unknown[] };

export type Response = { id: number; result: unknown } | { id: number; error: ErrorMessage };

/** A result, and what of it may be moved instead of copied. `after` runs once the answer is on its way. */
export type Answer = { result: unknown; transfer: Transferable[]; after?: () => void };

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

/** Answers requests in the order they come. */
export function serveRequests(port: MessagePort, handle: (request: Request) => Answer): void {
  port.on('message', (request: Request) => {
    let answer: Answer;
    try {
      answer = handle(request);
    } catch (error) {
      port.postMessage({ id: request.id, error: encodeError(error) } satisfies Response, []);
      return;
    }
    port.postMessage({ id: request.id, result: answer.result } satisfies Response, answer.transfer);
    answer.after?.();
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
