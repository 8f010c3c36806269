// What the main thread and the store's threads agree on beside the store's methods.
import type { MessagePort } from 'node:worker_threads';
import type { WriteOptions } from '../context.ts';
import { serveRequests } from './rpc.ts';
import type { Answer, RequestHandler } from './rpc.ts';

/** What the threads that answer methods are started with. */
export type ThreadData =
  | ({ role: 'writer'; path: string; masterKey: Uint8Array; checkpoints: CheckpointLink } & WriteOptions)
  | { role: 'reader'; path: string; masterKey: Uint8Array };

export type CheckpointThreadData = { role: 'checkpointer'; path: string; checkpoints: CheckpointLink };

/** Joins the writer and the checkpointer. `state`, shared: one integer, IDLE or RUNNING. */
export type CheckpointLink = { port: MessagePort; state: Int32Array };

export const IDLE = 0;
export const RUNNING = 1;

/** The first call: answered when the thread can serve, or with the error that keeps it from that. */
export const OPEN = 'open';
/** The last call, after all others: the thread ends instead of an answer. */
export const CLOSE = 'close';

/** What a thread does between the two. After `close` nothing may keep its event loop alive. */
export interface ThreadService extends RequestHandler {
  close(): void;
}

export function serveThread(port: MessagePort, open: () => ThreadService): void {
  const nothing: Answer = { result: null, transfer: [] };
  let service: ThreadService | null = null;
  serveRequests(port, {
    get joining() {
      return service?.joining;
    },
    run(request) {
      if (request.method === OPEN) {
        service = open();
        return nothing;
      }
      if (request.method === CLOSE) {
        service?.close();
        service = null;
        port.close();
        return nothing;
      }
      return service!.run(request);
    },
    afterRun: () => service?.afterRun(),
  });
}
