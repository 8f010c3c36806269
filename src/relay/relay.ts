// A transactional outbox: what an application inserts in its own transactions is published, and deleted when Postrider
// has it. Whatever breaks on the way, a row is deleted only after its 2xx, and published again only under its own key.
import type { Postrider } from '../../sdk/typescript/src/postrider.ts';
import { delay, type Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { DatabaseAddress } from '../store/postgres/wire/database-address.ts';
import { Backoff } from './backoff.ts';
import { describeOutbox, type Refusal } from './outbox-table.ts';
import { Outbox } from './outbox.ts';
import { Publishing, type Unsettled } from './publishing.ts';
import { explain, mayPass, openSource, type Pool } from './source.ts';
import { withTurn, type Turn } from './turn.ts';

export type RelayOptions = {
  source: DatabaseAddress;
  table: string;
  /** Of `connect`: one that tries once. */
  service: Postrider;
  /** Published rows are marked, not deleted. */
  isKept: boolean;
  /** To end when everything that is there is published. */
  isOnce: boolean;
  batchSize: number;
  clock: Clock;
  random: Random;
  onNews: (news: News) => void;
};

export type Side = 'service' | 'source';

export type News =
  /** Another relay publishes this table. */
  | { kind: 'standby' }
  | { kind: 'publishing'; table: string }
  | { kind: 'settled'; published: number; refused: ReadonlyMap<string, Refusal> }
  | { kind: 'trouble'; with: Side; message: string; pauseMs: number }
  | { kind: 'recovered'; with: Side };

/** Nothing went on for too long, and nobody is there to wait for it: of `isOnce`. */
export class GaveUp extends Error {}

const GIVE_UP_MS = 60_000;
const READ_BYTES_MAX = 5 * 1024 * 1024;

export class Relay {
  readonly #options: RelayOptions;
  readonly #service: Backoff;
  readonly #source: Backoff;
  readonly #unsettled: Unsettled = new Map();
  readonly #stopped = Promise.withResolvers<void>();
  #isStopped = false;
  #publishing: Publishing | null = null;

  constructor(options: RelayOptions) {
    const { clock, random } = options;
    this.#options = options;
    this.#service = new Backoff(clock, random);
    this.#source = new Backoff(clock, random);
  }

  /**
   * Resolves after stop(), or at the end of `isOnce`. Throws what time will not mend: OutboxError, Denied, GaveUp, or
   * the database's own error.
   */
  async run(): Promise<void> {
    const pool = openSource(this.#options.source);
    try {
      while (!this.#isStopped) {
        const isDone = await this.#trySession(pool);
        if (isDone) return;
      }
    } finally {
      await pool.end();
    }
  }

  /** What is with the service is waited for, and settled. */
  stop(): void {
    this.#isStopped = true;
    this.#stopped.resolve();
    this.#publishing?.end();
  }

  async #trySession(pool: Pool): Promise<boolean> {
    try {
      return await this.#session(pool);
    } catch (error) {
      if (!mayPass(error)) throw error;
      await this.#waitForSource(explain(error));
      return false;
    }
  }

  /** Returns whether nothing is left to do. */
  async #session(pool: Pool): Promise<boolean> {
    const { table: name, isKept, isOnce, batchSize, clock, onNews } = this.#options;
    const table = await describeOutbox(pool, { table: name, isKept });
    const limits = { rowsMax: 2 * batchSize, bytesMax: READ_BYTES_MAX };
    const outbox = new Outbox({ pool, table, isKept, clock }, limits);
    let isToldOfStandby = false;
    const mayWait = async (pauseMs: number): Promise<boolean> => {
      if (!isToldOfStandby) onNews({ kind: 'standby' });
      isToldOfStandby = true;
      if (isOnce && (await outbox.isEmpty())) return false;
      await Promise.race([delay(clock, pauseMs), this.#stopped.promise]);
      return !this.#isStopped;
    };
    const work = async (turn: Turn, lost: AbortSignal): Promise<boolean> => {
      onNews({ kind: 'publishing', table: table.name });
      if (this.#source.succeed()) onNews({ kind: 'recovered', with: 'source' });
      await this.#publish(outbox, turn, lost);
      return !lost.aborted;
    };
    return (await withTurn({ pool, oid: table.oid, clock, mayWait }, work)) ?? true;
  }

  async #publish(outbox: Outbox, turn: Turn, lost: AbortSignal): Promise<void> {
    const { service, clock, batchSize, isOnce, onNews } = this.#options;
    const publishing = new Publishing({
      outbox,
      turn,
      service,
      backoff: this.#service,
      clock,
      batchSize,
      isOnce,
      unsettled: this.#unsettled,
      onSettled: (settled) => onNews({ kind: 'settled', ...settled }),
      onLocked: (count, pauseMs) => {
        const message = `of the rows that are done with, ${count} are locked by another transaction`;
        if (count > 0) onNews({ kind: 'trouble', with: 'source', message, pauseMs });
        else onNews({ kind: 'recovered', with: 'source' });
      },
      onTrouble: ({ message }, pauseMs) => {
        onNews({ kind: 'trouble', with: 'service', message, pauseMs });
        if (isOnce && this.#service.failingForMs > GIVE_UP_MS) publishing.end();
      },
      onRecovery: () => onNews({ kind: 'recovered', with: 'service' }),
    });
    this.#publishing = publishing;
    lost.addEventListener('abort', () => publishing.end());
    if (lost.aborted || this.#isStopped) publishing.end();
    await publishing.run();
    this.#assertGoesOn(this.#service);
  }

  async #waitForSource(message: string): Promise<void> {
    const { clock, onNews } = this.#options;
    const pauseMs = this.#source.fail(null);
    if (this.#isStopped) return;
    onNews({ kind: 'trouble', with: 'source', message, pauseMs });
    this.#assertGoesOn(this.#source);
    await Promise.race([delay(clock, pauseMs), this.#stopped.promise]);
  }

  #assertGoesOn(backoff: Backoff): void {
    if (!this.#options.isOnce || backoff.failingForMs <= GIVE_UP_MS) return;
    throw new GaveUp(`nothing went on for ${GIVE_UP_MS / 1_000} s`);
  }
}
