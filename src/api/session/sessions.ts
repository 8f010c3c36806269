// Sessions of the dashboard: a cookie that names an API key, sealed, for 8 hours. The store knows nothing of them, and
// any node takes the cookie of any other. A session ends with its key on all of them. A sign-out makes the browser
// forget the cookie, and the node that was asked refuse it until that node is started again.
import type { IncomingHttpHeaders } from 'node:http';
import type { ApiKey, Mode } from '../../model/api-key.ts';
import { ApiError } from '../../model/error.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import type { Sealer } from '../../runtime/sealer.ts';
import type { Authenticator } from '../auth.ts';
import { checkSameOrigin } from './origin.ts';
import { forgetTicket, readTicket, writeTicket, type Ticket } from './ticket.ts';

export type Sessions = ReturnType<typeof createSessions>;

export type Session = { mode: Mode; key: ApiKey; expiresAt: number };

/** A script of the dashboard says by it which cookie speaks for its request; no form or link can send it. */
export const MODE_HEADER = 'postrider-mode';

const MODES: readonly Mode[] = ['test', 'live'];
const LIFETIME_MS = 8 * 3_600_000;
/** Some hundred bytes each. */
const ENDED_MAX = 10_000;
const NUMBER_BYTES = 16;

export function createSessions(parts: {
  authenticator: Pick<Authenticator, 'authenticateId'>;
  sealer: Sealer;
  clock: Clock;
  random: Random;
  /** The names that the dashboard is served under, besides this machine's. */
  hosts: readonly string[];
}) {
  const { authenticator, sealer, clock, random, hosts } = parts;
  const ended = createEnded(clock);

  const open = (mode: Mode, headers: IncomingHttpHeaders): Ticket | null => {
    const ticket = readTicket(mode, headers, sealer);
    if (ticket === null || ticket.beganAt <= clock.now() - LIFETIME_MS) return null;
    return ended.has(ticket) ? null : ticket;
  };

  /** Throws UnknownKeyError where the key may have been made a moment ago, ApiError where it has expired. */
  const find = (mode: Mode, headers: IncomingHttpHeaders): Session | null => {
    const ticket = open(mode, headers);
    if (ticket === null) return null;
    const key = authenticator.authenticateId(ticket.keyId);
    return { mode, key, expiresAt: expiryOf(ticket.beganAt, key) };
  };

  const end = (mode: Mode, headers: IncomingHttpHeaders): void => {
    const ticket = open(mode, headers);
    if (ticket !== null) ended.add(ticket);
  };

  return {
    /** Whose key a request to the API is made with, by its cookie. Throws ApiError. */
    authenticate(method: string, headers: IncomingHttpHeaders): ApiKey {
      checkSameOrigin(method, headers, hosts);
      const mode = MODES.find((one) => one === headers[MODE_HEADER]);
      const session = mode === undefined ? null : find(mode, headers);
      if (session === null) throw new ApiError('unauthorized', 'there is no such session, or it has ended; sign in');
      return session.key;
    },
    /** Those that have not ended; at most one of each mode. */
    list(headers: IncomingHttpHeaders): Session[] {
      return MODES.map((mode) => findLive(() => find(mode, headers))).filter((session) => session !== null);
    },
    /** A new one, in the place of that which the browser had: nobody goes on in one that another has put there. */
    begin(key: ApiKey, headers: IncomingHttpHeaders): { session: Session; cookie: string } {
      end(key.mode, headers);
      const now = clock.now();
      const expiresAt = expiryOf(now, key);
      const number = Buffer.from(random.bytes(NUMBER_BYTES)).toString('latin1');
      const ticket = { number, keyId: key.id, beganAt: now };
      const cookie = writeTicket(key.mode, ticket, { sealer, headers, maxAgeMs: expiresAt - now });
      return { session: { mode: key.mode, key, expiresAt }, cookie };
    },
    /** Ends it, if there is one, and makes the browser forget it. */
    end(mode: Mode, headers: IncomingHttpHeaders): string {
      end(mode, headers);
      return forgetTicket(mode, headers);
    },
  };
}

/** Sessions that were ended before their time. */
function createEnded(clock: Pick<Clock, 'now'>) {
  /** By their numbers: when their time is over, and they need not be remembered. */
  const until = new Map<string, number>();
  /** All that began until then have ended. */
  let allAt = Number.NEGATIVE_INFINITY;
  const makeRoom = (): void => {
    for (const [number, at] of until) if (at <= clock.now()) until.delete(number);
    if (until.size < ENDED_MAX) return;
    // Whoever signs in and out ten thousand times must not bring ended sessions back to life: all begin anew.
    until.clear();
    allAt = clock.now();
  };
  return {
    has: ({ number, beganAt }: Ticket): boolean => beganAt <= allAt || until.has(number),
    add({ number, beganAt }: Ticket): void {
      if (until.size >= ENDED_MAX) makeRoom();
      until.set(number, beganAt + LIFETIME_MS);
    },
  };
}

/** A session whose key has expired or was revoked is none. */
function findLive(find: () => Session | null): Session | null {
  try {
    return find();
  } catch (error) {
    if (error instanceof ApiError) return null;
    throw error;
  }
}

function expiryOf(beganAt: number, key: ApiKey): number {
  return Math.min(beganAt + LIFETIME_MS, key.expiresAt ?? Infinity);
}
