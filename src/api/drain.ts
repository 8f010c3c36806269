// Closing without cutting anyone off: requests under way are answered, and their connections closed after that.
// Node alone would wait for ever for a connection that never sent a request, or does not finish the one it began.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../runtime/clock.ts';

export interface Drain {
  /** To be told of the server before it listens. */
  watch(server: Server): void;
  /** Closes the connections that nobody waits for; the others when they are answered, or 10 s later. */
  begin(): void;
}

/** Requests that are not answered this long after the beginning of closing are cut off. */
const DRAIN_TIMEOUT_MS = 10_000;

/** `beginClosing`: whether a connection has a request under way, which is then made its last. */
export function createDrain(options: { clock: Clock; beginClosing: (socket: Socket) => boolean }): Drain {
  const { clock, beginClosing } = options;
  const sockets = new Set<Socket>();

  const closeAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };

  return {
    watch(server) {
      server.on('connection', (socket: Socket) => {
        sockets.add(socket);
        socket.once('close', () => sockets.delete(socket));
      });
    },
    begin() {
      for (const socket of sockets) if (!beginClosing(socket)) socket.destroy();
      clock.setTimer(closeAll, DRAIN_TIMEOUT_MS);
    },
  };
}
