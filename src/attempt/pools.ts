// Keep-alive connections, kept apart by environment and origin: one vetted for test never carries live traffic.
// A connection carries one attempt at a time, and there is no limit per origin: a queue here would let one
// destination's hanging requests starve another's. A name is not resolved again for a reused socket: that socket leads
// where it led when it was vetted.
import type { Mode } from '../model/api-key.ts';
import type { Clock, Timer } from '../runtime/clock.ts';
import type { Connect } from './connect.ts';
import { Connection, type Abort, type Place } from './connection.ts';
import { NoDescriptors } from './descriptors.ts';
import type { Target } from './target.ts';

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
/** The host's certificate and its ticket, usually 1 to 3 KiB; a hostile host would have us keep ten times as much. */
const TLS_SESSION_BYTES_MAX = 16_384;
/** Unless the receiver's Keep-Alive header asks for less; load balancers usually close after 60 s. */
const IDLE_MS_MAX = 30_000;
/**
 * An idle connection is closed so long before the receiver said that it would close it, or at half of the receiver's
 * time where that is later: our request must not meet its FIN.
 */
const IDLE_MARGIN_MS = 1_000;

/** Idle connections are looked through so often for those whose time is over. */
const SWEEP_INTERVAL_MS = 1_000;

type PoolsClock = Pick<Clock, 'afterTurn' | 'monotonic' | 'setTimer'>;

export function createPools({ connect, clock }: { connect: Connect; clock: PoolsClock }) {
  const idle = createIdleConnections(clock);
  // Resuming spares the receiver and us the asymmetric half of a handshake after every idle close.
  const sessions = new Map<string, Buffer>();
  let isClosed = false;

  const rememberSession = (key: string, session: Buffer): void => {
    sessions.delete(key);
    if (session.length > TLS_SESSION_BYTES_MAX) return;
    if (sessions.size >= TLS_SESSIONS_MAX) sessions.delete(sessions.keys().next().value!);
    sessions.set(key, session);
  };

  /** Unless another connection has brought a newer one meanwhile. */
  const forgetSession = (key: string, session: Buffer | undefined): void => {
    if (sessions.get(key) === session) sessions.delete(key);
  };

  const keep = (connection: Connection): void => {
    const { socket, keptAliveMs } = connection;
    const idleMs = Math.min(IDLE_MS_MAX, Math.max(keptAliveMs / 2, keptAliveMs - IDLE_MARGIN_MS));
    // A receiver that answers early leaves the rest of our request unsent: it would precede the next one. And one that
    // says more than its answer would have that taken for the next.
    const isAtRest = socket.writableLength === 0 && !connection.hasUnread;
    if (isClosed || idleMs <= 0 || socket.destroyed || !isAtRest) {
      socket.destroy();
      return;
    }
    connection.isReused = true;
    idle.add(connection, idleMs);
  };

  return {
    /** The idle connection used last (the least likely to be stale), or null. */
    takeIdle: (environment: number, { origin }: Target): Connection | null => idle.take({ environment, origin }),
    /** A fresh connection; rejects with ConnectError or NoDescriptors. */
    async open({ environment, target, ...options }: OpenOptions): Promise<Connection> {
      const key = `${environment} ${target.origin}`;
      const onSession = (session: Buffer): void => rememberSession(key, session);
      const session = sessions.get(key);
      const link = await connect({ ...options, target, session, onSession }).catch((error: unknown) => {
        // The session may be why: some servers hang up on one that they do not know any more.
        forgetSession(key, session);
        // What is kept for later may be what this one could not have.
        if (error instanceof NoDescriptors) idle.clear();
        throw error;
      });
      const connection = new Connection(link, { environment, origin: target.origin });
      link.socket.once('close', () => idle.remove(connection));
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

function createIdleConnections(clock: Pick<Clock, 'monotonic' | 'setTimer'>) {
  const places = new Places();
  // In the order they became idle, so that the first is the one to close when there are too many. Values: monotonic ms.
  const endOf = new Map<Connection, number>();
  let sweep: Timer | null = null;

  const remove = (connection: Connection): void => {
    if (!endOf.delete(connection)) return;
    const here = places.get(connection.place)!;
    here.splice(here.lastIndexOf(connection), 1);
    if (here.length === 0) places.delete(connection.place);
  };

  const close = (connection: Connection): void => {
    remove(connection);
    connection.socket.destroy();
  };

  const isOver = (connection: Connection): boolean =>
    connection.socket.destroyed || endOf.get(connection)! <= clock.monotonic();

  const sweepLater = (): void => {
    sweep ??= clock.setTimer(() => {
      sweep = null;
      for (const connection of endOf.keys()) if (isOver(connection)) close(connection);
      if (endOf.size > 0) sweepLater();
    }, SWEEP_INTERVAL_MS);
  };

  return {
    take(place: Place): Connection | null {
      const here = places.get(place);
      while (here !== undefined && here.length > 0) {
        const connection = here.at(-1)!;
        if (isOver(connection)) close(connection);
        else {
          remove(connection);
          return connection;
        }
      }
      return null;
    },
    add(connection: Connection, idleMs: number): void {
      endOf.set(connection, clock.monotonic() + idleMs);
      places.open(connection.place).push(connection);
      const [oldest] = endOf.size > IDLE_CONNECTIONS_MAX ? endOf.keys() : [];
      if (oldest !== undefined) close(oldest);
      sweepLater();
    },
    remove,
    clear(): void {
      for (const connection of endOf.keys()) close(connection);
      sweep?.cancel();
      sweep = null;
    },
    size: () => endOf.size,
  };
}

/** Connections by place. One text of both parts would be made, and looked up among all texts there are, each time. */
class Places {
  readonly #byOrigin = new Map<string, Map<number, Connection[]>>();

  get({ environment, origin }: Place): Connection[] | undefined {
    return this.#byOrigin.get(origin)?.get(environment);
  }

  /** An empty one where there is none. */
  open({ environment, origin }: Place): Connection[] {
    let here = this.#byOrigin.get(origin);
    if (here === undefined) this.#byOrigin.set(origin, (here = new Map()));
    let connections = here.get(environment);
    if (connections === undefined) here.set(environment, (connections = []));
    return connections;
  }

  delete({ environment, origin }: Place): void {
    const here = this.#byOrigin.get(origin);
    here?.delete(environment);
    if (here?.size === 0) this.#byOrigin.delete(origin);
  }
}
