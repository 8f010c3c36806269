// The entry of the thread that copies the log into the database file whenever the writer asks.
import { parentPort, workerData } from 'node:worker_threads';
import { openDatabase } from '../file/database.ts';
import { answerCheckpoints, type CheckpointLink } from './checkpoint.ts';
import { serveThread, type ThreadService } from './rpc.ts';

export type CheckpointThreadData = { role: 'checkpointer'; path: string; checkpoints: CheckpointLink };

function open({ path, checkpoints }: CheckpointThreadData): ThreadService {
  const db = openDatabase(path);
  answerCheckpoints(db, checkpoints);
  return {
    run({ method }) {
      throw new Error(`the checkpointer has no ${method}`);
    },
    afterRun() {},
    close() {
      db.close();
      checkpoints.port.close();
    },
  };
}

if (parentPort !== null) serveThread(parentPort, () => open(workerData as CheckpointThreadData));
