// Keep-alive connections, kept apart by environment and origin: one vetted for test never carries live traffic.
// A connection is one undici Client on one socket that was made (resolved, vetted, verified) before the Client saw
// it, for one attempt at a time. No limit per origin: a queue here would let one destination's hanging requests
// starve another's. Not undici's own Pool: it cannot be told to use a fresh socket, or which idle one to close.
// A name is not resolved again for a reused socket: that socket leads where it led when it was vetted.
import type { Socket } from 'node:net';
import { Client } from 'undici';
import type { Mode } from '../model/api-key.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Abort } from './abort.ts';
import type { Connect } from './connect.ts';
import { createIntake } from './intake.ts';
import type { Intake } from './intake.ts';
import { ReadingTime } from './reading-time.ts';
import type { Target } from './target.ts';

export type Connection = {
  readonly client: Client;
  readonly socket: Socket;
  readonly intake: Intake;
  /** `environment origin` */
  readonly place: string;
  /** Has carried an attempt before this one: it may have been closed at the other end meanwhile. */
  isReused: boolean;
};

type OpenOptions = {
  environment: number;
  mode: Mode;
  target: Target;
  budgetMs: number;
  abort?: Abort | undefined;
};

export type Pools = ReturnType<typeof createPools>;

export const IDLE_CONNECTIONS_MAX = 1_000;
const TLS_SESSIONS_MAX = 1_000;
/** Unless the receiver's Keep-Alive header asks for less; load balancers usually close after 60 s. */
const IDLE_MS_MAX = 30_000;
/** Closed so much earlier than the receiver said it would: our request must not meet its FIN. */
const IDLE_MARGIN_MS = 1_000;

const CLIENT_OPTIONS = {
  pipelining: 1,
  allowH2: false,
  // Headers and trailers are bounded by the intake, which cuts at once; undici would go on through what it has been
  // given, with an exception for each further header line.
  maxHeaderSize: Number.MAX_SAFE_INTEGER,
  // One deadline covers the whole attempt; it is not undici's to keep.
  headersTimeout: 0,
  bodyTimeout: 0,
  keepAliveTimeout: IDLE_MS_MAX,
  keepAliveMaxTimeout: IDLE_MS_MAX,
  keepAliveTimeoutThreshold: IDLE_MARGIN_MS,
} as const;

/** The Client wanted a second socket: its first one closed before the request was written to it. */
export class ConnectionGoneError extends Error {}

export function createPools({ connect, clock }: { connect: Connect; clock: Pick<Clock, 'afterTurn' | 'monotonic'> }) {
  const idle = createIdleConnections();
  const readingTime = new ReadingTime(clock);
  // Resuming spares the receiver and us the asymmetric half of a handshake after every idle close.
  const sessions = new Map<string, Buffer>();
  let isClosed = false;

  const rememberSession = (place: string, session: Buffer): void => {
    sessions.delete(place);
    if (sessions.size >= TLS_SESSIONS_MAX) sessions.delete(sessions.keys().next().value!);
    sessions.set(place, session);
  };

  const keep = (connection: Connection): void => {
    const { socket } = connection;
    // A receiver that answers early leaves the rest of our request unsent: it would precede the next one.
    if (isClosed || socket.destroyed || socket.writableLength > 0) {
      socket.destroy();
      return;
    }
    connection.isReused = true;
    idle.add(connection);
  };

  return {
    /** The idle connection used last (the least likely to be stale), or null. */
    takeIdle: (environment: number, target: Target): Connection | null => idle.take(placeOf(environment, target)),
    /** A fresh connection; rejects with ConnectError. */
    async open({ environment, target, ...options }: OpenOptions): Promise<Connection> {
      const place = placeOf(environment, target);
      const onSession = (session: Buffer): void => rememberSession(place, session);
      const socket = await connect({ ...options, target, session: sessions.get(place), onSession });
      const intake = createIntake(socket, readingTime);
      const connection: Connection = { client: clientOn(socket, target), socket, intake, place, isReused: false };
      socket.once('close', () => idle.remove(connection));
      return connection;
    },
    /** Gives a connection back, to be used again unless it was destroyed. */
    release(connection: Connection): void {
      // TLS learns only in the next turn that what it wrote has gone out.
      if (connection.socket.writableLength > 0) clock.afterTurn(() => keep(connection));
      else keep(connection);
    },
    /** Closes what is idle; what is given back later is closed, too. */
    close(): void {
      isClosed = true;
      idle.clear();
    },
    stats: () => ({ idle: idle.size() }),
  };
}

function placeOf(environment: number, target: Target): string {
  return `${environment} ${target.origin}`;
}

function clientOn(socket: Socket, target: Target): Client {
  let isTaken = false;
  return new Client(target.origin, {
    ...CLIENT_OPTIONS,
    connect(_options, callback) {
      // Never at once: undici would not go on with the request that made it connect.
      queueMicrotask(() => {
        if (isTaken) return callback(new ConnectionGoneError(), null);
        isTaken = true;
        callback(null, socket);
      });
    },
  });
}

function createIdleConnections() {
  const byPlace = new Map<string, Connection[]>();
  // In the order they became idle, so that the first is the one to close when there are too many.
  const all = new Set<Connection>();

  const remove = (connection: Connection): void => {
    if (!all.delete(connection)) return;
    const here = byPlace.get(connection.place)!;
    here.splice(here.lastIndexOf(connection), 1);
    if (here.length === 0) byPlace.delete(connection.place);
  };

  return {
    take(place: string): Connection | null {
      const connection = byPlace.get(place)?.at(-1);
      if (connection === undefined) return null;
      remove(connection);
      return connection;
    },
    add(connection: Connection): void {
      all.add(connection);
      const here = byPlace.get(connection.place);
      if (here === undefined) byPlace.set(connection.place, [connection]);
      else here.push(connection);
      if (all.size > IDLE_CONNECTIONS_MAX) {
        const [oldest] = all;
        remove(oldest!);
        oldest!.socket.destroy();
      }
    },
    remove,
    clear(): void {
      for (const connection of all) {
        remove(connection);
        connection.socket.destroy();
      }
    },
    size: () => all.size,
  };
}
