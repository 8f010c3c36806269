// The entry of the two threads that answer the store's methods: the writer and the reader.
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../runtime/clock.ts';
import { systemRandom } from '../../runtime/random.ts';
import type { PassiveCheckpoints } from './checkpoint.ts';
import { createWriter, openReader } from './connection.ts';
import type { Connection } from './connection.ts';
import { openDatabase } from './database.ts';
import type { MethodName } from './methods.ts';
import { transferOf, unpackParameters } from './packing.ts';
import { RUNNING, serveThread } from './thread-protocol.ts';
import type { CheckpointLink, ThreadData, ThreadService } from './thread-protocol.ts';

function open(data: ThreadData): ThreadService {
  const connection = connect(data);
  return {
    run(method, parameters) {
      const name = method as MethodName;
      const result = connection.run(name, unpackParameters(name, parameters));
      return { result, transfer: transferOf(name, result), after: connection.afterRun };
    },
    close() {
      connection.close();
      if (data.role === 'writer') data.checkpoints.port.close();
    },
  };
}

function connect(data: ThreadData): Connection {
  const runtime = { clock: systemClock, random: systemRandom };
  if (data.role === 'reader') return openReader({ ...data, ...runtime });
  const passive = requestCheckpoints(data.checkpoints);
  return createWriter({ ...data, ...runtime, db: openDatabase(data.path), passive });
}

// The writer may have to wait for a checkpoint in the middle of its work, without its event loop: hence the shared
// integer beside the port.
function requestCheckpoints({ port, state }: CheckpointLink): PassiveCheckpoints {
  return {
    start() {
      Atomics.store(state, 0, RUNNING);
      port.postMessage(null);
    },
    isRunning: () => Atomics.load(state, 0) === RUNNING,
    wait: () => void Atomics.wait(state, 0, RUNNING),
  };
}

if (parentPort !== null) serveThread(parentPort, () => open(workerData as ThreadData));
