// The entry of the two threads that answer the store's methods: the writer and the reader.
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../../runtime/clock.ts';
import { systemRandom } from '../../../runtime/random.ts';
import type { WriteOptions } from '../context.ts';
import { createWriter, openReader } from '../file/connection.ts';
import { openDatabase } from '../file/database.ts';
import { QUERIES } from '../methods.ts';
import { requestCheckpoints } from './checkpoint.ts';
import type { CheckpointLink } from './checkpoint.ts';
import { packResult, unpackParameters } from './packing.ts';
import { serveThread } from './rpc.ts';
import type { Answer, Request, ThreadService } from './rpc.ts';

export type ThreadData =
  | ({ role: 'writer'; path: string; masterKey: Uint8Array; checkpoints: CheckpointLink } & WriteOptions)
  | { role: 'reader'; path: string; masterKey: Uint8Array };

/** Calls of these that wait at the same time share a transaction, and so an fsync and the pages that both change. */
const JOINING: readonly string[] = ['acceptEvents', 'recordResults'];

/** Whatever its parameters and context: a call's come from the other end, where they were checked. */
type AnyQuery = (context: unknown, ...parameters: unknown[]) => unknown;

type AnyConnection = { run: (query: AnyQuery, ...parameters: unknown[]) => unknown };

function answer(connection: AnyConnection, { method, parameters }: Request): Answer {
  const query = QUERIES[method as keyof typeof QUERIES] as AnyQuery;
  return packResult(method, connection.run(query, ...unpackParameters(method, parameters)));
}

function openService(data: ThreadData): ThreadService {
  const runtime = { clock: systemClock, random: systemRandom };
  if (data.role === 'reader') {
    const reader = openReader({ ...data, ...runtime });
    return {
      run: (request) => answer(reader, request),
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
  const run = (request: Request): Answer => answer(writer, request);
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
