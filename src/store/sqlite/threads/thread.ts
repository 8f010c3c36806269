// The entry of the two threads that answer the store's methods: the writer and the reader.
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../../runtime/clock.ts';
import { systemRandom } from '../../../runtime/random.ts';
import type { PassiveCheckpoints } from './checkpoint.ts';
import { createWriter, openReader } from '../file/connection.ts';
import type { Call, Connection } from '../file/connection.ts';
import { openDatabase } from '../file/database.ts';
import { JOINING } from '../methods.ts';
import type { MethodName } from '../methods.ts';
import { packResult, unpackParameters } from './packing.ts';
import type { Request } from './rpc.ts';
import { RUNNING, serveThread } from './thread-protocol.ts';
import type { CheckpointLink, ThreadData, ThreadService } from './thread-protocol.ts';

function open(data: ThreadData): ThreadService {
  const connection = connect(data);
  const callOf = ({ method, parameters }: Request): Call => {
    const name = method as MethodName;
    return { method: name, parameters: unpackParameters(name, parameters) };
  };
  return {
    run(request) {
      const { method, parameters } = callOf(request);
      return packResult(method, connection.run(method, parameters));
    },
    joining: {
      mayJoin: (method) => JOINING.includes(method as MethodName),
      run(requests) {
        const calls = requests.map(callOf);
        return connection.runTogether(calls).map((result, i) => packResult(calls[i]!.method, result));
      },
    },
    afterRun: connection.afterRun,
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
