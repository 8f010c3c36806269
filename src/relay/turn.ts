// Whose turn it is to publish a table: of all relays that run, the one whose session has the table's advisory lock. It
// locks no row and writes nothing; a relay that dies, hangs or loses its connection loses the turn with it. That two
// believe to have it for a moment costs only requests: a row goes out under its own key, in its group's order.
import { delay, type Clock, type Timer } from '../runtime/clock.ts';
import { withConnection } from '../store/postgres/wire/connections.ts';
import { CHANNEL, IDLE_LOCK, TURN_LOCK } from './schema.ts';
import type { Client, Pool } from './source.ts';

const BEAT_MS = 5_000;
/** The server ends the session of a relay that hangs. PostgreSQL 13 has no such setting. */
const IDLE_SESSION_TIMEOUT = `DO $$ BEGIN
  SET idle_session_timeout = '30s';
EXCEPTION WHEN undefined_object THEN END $$`;

export class Turn {
  readonly #client: Client;
  readonly #oid: number;
  readonly #clock: Clock;
  #hasIdleLock = false;
  #isNotified = false;
  #wake: () => void = () => {};

  constructor(client: Client, oid: number, clock: Clock) {
    this.#client = client;
    this.#oid = oid;
    this.#clock = clock;
    client.on('notification', () => {
      this.#isNotified = true;
      this.#wake();
    });
  }

  get isIdle(): boolean {
    return this.#hasIdleLock;
  }

  /**
   * From here on whoever inserts tells, where the trigger is there. False: some transaction that is under way has found
   * that nobody waits. Look again at the rows after this: what came before it was not told.
   */
  async beIdle(): Promise<boolean> {
    if (this.#hasIdleLock) return true;
    this.#isNotified = false;
    const [row] = await this.#ask<{ has: boolean }>(`pg_try_advisory_lock(${IDLE_LOCK}, ${this.#oid}) AS has`);
    this.#hasIdleLock = row!.has;
    return row!.has;
  }

  async beBusy(): Promise<void> {
    if (!this.#hasIdleLock) return;
    this.#hasIdleLock = false;
    await this.#ask(`pg_advisory_unlock(${IDLE_LOCK}, ${this.#oid})`);
  }

  /** Until something was inserted, or for so long. */
  async rest(forMs: number): Promise<void> {
    if (this.#isNotified) return;
    const woken = new Promise<void>((resolve) => (this.#wake = resolve));
    await Promise.race([woken, delay(this.#clock, forMs)]);
  }

  /** Ends a rest. */
  wake(): void {
    this.#isNotified = true;
    this.#wake();
  }

  async #ask<Answer extends object>(what: string): Promise<Answer[]> {
    return (await this.#client.query<Answer>(`SELECT ${what}`)).rows;
  }
}

/**
 * Waits for the turn and works while it lasts: `work` is told by the signal when the session is gone. Resolves with
 * null when `mayWait` says that there is nothing to wait for.
 */
export async function withTurn<Result>(
  options: { pool: Pool; oid: number; clock: Clock; mayWait: (pauseMs: number) => Promise<boolean> },
  work: (turn: Turn, lost: AbortSignal) => Promise<Result>,
): Promise<Result | null> {
  const { pool, oid, clock, mayWait } = options;
  return withConnection(pool, async (client, discard) => {
    const lost = new AbortController();
    const lose = (): void => lost.abort();
    client.on('end', lose);
    client.on('error', lose);
    const heart = createHeart(client, clock, lose);
    try {
      await client.query(IDLE_SESSION_TIMEOUT);
      while (!(await tryLock(client, oid))) {
        if (!(await mayWait(BEAT_MS / 10))) return null;
      }
      await client.query(`LISTEN ${CHANNEL}`);
      heart.start();
      return await work(new Turn(client, oid, clock), lost.signal);
    } finally {
      heart.stop();
      client.removeListener('end', lose);
      client.removeListener('error', lose);
      // With the session end its locks.
      discard(new Error('the turn is over'));
    }
  });
}

async function tryLock(client: Client, oid: number): Promise<boolean> {
  const { rows } = await client.query<{ has: boolean }>(`SELECT pg_try_advisory_lock(${TURN_LOCK}, ${oid}) AS has`);
  return rows[0]!.has;
}

/** A connection that leads nowhere any more is noticed by nothing else. */
function createHeart(client: Client, clock: Clock, onSilence: () => void) {
  let timer: Timer | null = null;
  let isStopped = false;
  const beat = (): void => void client.query('SELECT 1').then(next, onSilence);
  const next = (): void => {
    if (!isStopped) timer = clock.setTimer(beat, BEAT_MS);
  };
  return {
    start: next,
    stop() {
      isStopped = true;
      timer?.cancel();
    },
  };
}
