// A port whose connections neither succeed nor fail: a listener that never accepts, its backlog full.
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { arrival } from './event-loop.ts';

export interface DeafServer {
  readonly port: number;
  close(): Promise<void>;
}

const LISTEN_AND_FALL_ASLEEP = `
  const { parentPort } = require('node:worker_threads');
  const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    const awake = new Int32Array(new SharedArrayBuffer(4));
    parentPort.postMessage({ port: server.address().port, awake });
    Atomics.wait(awake, 0, 0);
    process.exit();
  });
`;
const BACKLOG_MAX = 16;

/** Null where the system takes connections even so. */
export async function startDeafServer(): Promise<DeafServer | null> {
  const worker = new Worker(LISTEN_AND_FALL_ASLEEP, { eval: true });
  const { port, awake } = await new Promise<{ port: number; awake: Int32Array }>((resolve, reject) => {
    worker.once('message', resolve).once('error', reject);
  });
  const fillers: Socket[] = [];
  const close = async (): Promise<void> => {
    for (const socket of fillers) socket.destroy();
    Atomics.store(awake, 0, 1);
    Atomics.notify(awake, 0);
    await worker.terminate();
  };
  for (let i = 0; i < BACKLOG_MAX; i++) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    fillers.push(socket);
    await arrival();
    if (socket.connecting) return { port, close };
  }
  await close();
  return null;
}
