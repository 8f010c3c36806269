// All connections of the server: who is told of which, who is too slow to read what was asked for, and how they end.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { Connection } from './connection.ts';
import { MemoryBudget } from './memory-budget.ts';

const LOOK_INTERVAL_MS = 1_000;
/** Requests that are not answered this long after the beginning of closing are cut off. */
const DRAIN_TIMEOUT_MS = 10_000;

export class Connections {
  readonly memory: MemoryBudget;
  readonly #clock: Clock;
  readonly #all = new Map<Socket, Connection>();

  constructor({ clock, bytesBudget }: { clock: Clock; bytesBudget: number }) {
    this.#clock = clock;
    this.memory = new MemoryBudget({ bytesBudget, clock, users: () => this.#all.values() });
  }

  /** To be told of the server before it listens. */
  watch(server: Server): void {
    let timer: Timer | null = null;
    const look = (): void => {
      const now = this.#clock.monotonic();
      for (const connection of this.#all.values()) connection.look(now);
      timer = this.#clock.setTimer(look, LOOK_INTERVAL_MS);
    };
    server.on('listening', look);
    server.on('close', () => timer?.cancel());
    server.on('connection', (socket: Socket) => {
      this.#all.set(socket, new Connection(socket, { memory: this.memory, clock: this.#clock }));
      socket.once('close', () => this.#all.delete(socket));
    });
  }

  /** Undefined for a request that is tried without a socket. */
  of(socket: Socket): Connection | undefined {
    return this.#all.get(socket);
  }

  /**
   * Closing without cutting anyone off: the connections that nobody waits for end now, the others when they are
   * answered, or 10 s later. Node alone would wait for ever for one that never sent a request, or does not finish it.
   */
  drain(): void {
    for (const connection of this.#all.values()) if (!connection.beginLast()) connection.socket.destroy();
    this.#clock.setTimer(() => {
      for (const socket of this.#all.keys()) socket.destroy();
    }, DRAIN_TIMEOUT_MS);
  }
}
