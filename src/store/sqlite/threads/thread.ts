// The entry of the two threads that answer the store's methods: the writer and the reader.
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../../runtime/clock.ts';
import { systemRandom } from '../../../runtime/random.ts';
import type { ReadContext, WriteContext, WriteOptions } from '../context.ts';
import { createWriter, openReader, type Connection } from '../file/connection.ts';
import { openDatabase } from '../file/database.ts';
import { createStore, type Runner } from '../methods.ts';
import { requestCheckpoints, type CheckpointLink } from './checkpoint.ts';
import { packResult, unpackParameters } from './packing.ts';
import { serveThread, type Answer, type Request, type ThreadService } from './rpc.ts';

export type ThreadData =
  | ({ role: 'writer'; path: string; masterKey: Uint8Array; checkpoints: CheckpointLink } & WriteOptions)
  | { role: 'reader'; path: string; masterKey: Uint8Array };

/** Calls of these that wait at the same time share a transaction, and so an fsync and the pages that both change. */
const JOINING: readonly string[] = ['acceptEvents', 'recordResults'];

/** A method's parameters come from the other end, where they were checked. */
type Methods = Readonly<Record<string, (...parameters: unknown[]) => unknown>>;

/** The store's methods on this thread's one connection: each answers at once, and not by a promise. */
function methodsOf(connection: Connection<ReadContext>): Methods {
  const runner = connection as unknown as Runner<WriteContext>;
  return createStore(runner, runner, async () => connection.close()) as unknown as Methods;
}

function answer(methods: Methods, { method, parameters }: Request): Answer {
  return packResult(method, methods[method]!(...unpackParameters(method, parameters)));
}

function openService(data: ThreadData): ThreadService {
  const runtime = { clock: systemClock, random: systemRandom };
  if (data.role === 'reader') {
    const reader = openReader({ ...data, ...runtime });
    const methods = methodsOf(reader);
    return {
      run: (request) => answer(methods, request),
      afterRun: () => {},
      close: () => reader.close(),
    };
  }
  const { path, checkpoints } = data;
  const writer = createWriter({
    ...data,
    ...runtime,
    db: openDatabase(path),
    passive: requestCheckpoints(checkpoints),
  });
  const methods = methodsOf(writer);
  const run = (request: Request): Answer => answer(methods, request);
  return {
    run,
    joining: {
      mayJoin: (method) => JOINING.includes(method),
      run: (requests) => writer.runTogether(() => requests.map(run)),
    },
    afterRun: writer.afterRun,
    close() {
      writer.close();
      checkpoints.port.close();
    },
  };
}

if (parentPort !== null) serveThread(parentPort, () => openService(workerData as ThreadData));
