// The entry of the thread that copies the log into the database file whenever the writer asks.
import { parentPort, workerData } from 'node:worker_threads';
import { checkpointPassively } from './checkpoint.ts';
import { openDatabase } from '../file/database.ts';
import { IDLE, serveThread } from './thread-protocol.ts';
import type { CheckpointThreadData, ThreadService } from './thread-protocol.ts';

function open({ path, checkpoints: { port, state } }: CheckpointThreadData): ThreadService {
  const db = openDatabase(path);
  port.on('message', () => {
    checkpointPassively(db);
    Atomics.store(state, 0, IDLE);
    Atomics.notify(state, 0);
  });
  return {
    run({ method }) {
      throw new Error(`the checkpointer has no ${method}`);
    },
    afterRun() {},
    close() {
      db.close();
      port.close();
    },
  };
}

if (parentPort !== null) serveThread(parentPort, () => open(workerData as CheckpointThreadData));
