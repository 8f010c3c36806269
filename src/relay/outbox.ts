// What a relay asks of an outbox: the next rows, and to be rid of those that are published or refused. It walks on from
// where it was, past the remains of deleted rows, and begins again at the front for what was committed behind it.
import type { Clock } from '../runtime/clock.ts';
import { isLockTimeout } from '../store/postgres/wire/errors.ts';
import { OutboxError, statementsFor, type OutboxTable, type Refusal, type Row } from './outbox-table.ts';
import type { Pool } from './source.ts';
import { GROUP_ROWS_MAX, type WaitingRows } from './waiting-rows.ts';

type Reading = {
  count: number;
  /** There is nothing that could be read now. */
  isEmpty: boolean;
  /** The walk has come to its end and passed over nothing. */
  isEnd: boolean;
};

/** At most so long after it began a walk begins anew, unless its beginning takes long. */
const WALK_MS_MAX = 1_000;
const WALK_PER_BEGINNING = 10;
/** After a walk to the end, while there is other work. */
const PAUSE_MS = 20;
const PAUSE_PER_READ = 3;
/** One statement reads the next rows of so many groups. */
const GROUPS_MAX = 50;
/** A read that the bytes have cut short has looked at rows for nothing: the next looks at fewer. */
const ROWS_MIN = 16;

export class Outbox {
  readonly #pool: Pool;
  readonly #table: OutboxTable;
  readonly #statements;
  readonly #clock: Clock;
  readonly #limits: { rowsMax: number; bytesMax: number };
  /** The last row that was read; null: the next read begins at the front. */
  #place: string[] | null = null;
  #walk = { beganAt: 0, beginningMs: 0, isComplete: true };
  #readableAt = 0;
  #groupsReadableAt = 0;
  #rows: number;
  /** A row that is done with was not to be had: before others are written it is asked which to leave. */
  #meetsLocks = false;

  constructor(
    options: { pool: Pool; table: OutboxTable; isKept: boolean; clock: Clock },
    limits: { rowsMax: number; bytesMax: number },
  ) {
    const { pool, table, isKept, clock } = options;
    this.#pool = pool;
    this.#table = table;
    this.#clock = clock;
    this.#limits = limits;
    this.#rows = limits.rowsMax;
    this.#statements = statementsFor(table, isKept);
  }

  /** Milliseconds until a read may find something new. */
  get pauseMs(): number {
    return Math.max(0, this.#readableAt - this.#clock.monotonic());
  }

  /** Milliseconds until `readGroups` may be asked; infinite where no group is short of rows. */
  groupsPauseMs(waiting: WaitingRows): number {
    if (waiting.shortGroups().length === 0) return Number.POSITIVE_INFINITY;
    return Math.max(0, this.#groupsReadableAt - this.#clock.monotonic());
  }

  /** The next read begins at the front, at once. */
  beginAnew(): void {
    this.#place = null;
    this.#readableAt = 0;
  }

  /** Adds what comes next to those that wait. `taken`: ids of rows that are on their way. */
  async read(waiting: WaitingRows, taken: readonly string[]): Promise<Reading> {
    const beganAt = this.#clock.monotonic();
    const { beganAt: walkBeganAt, beginningMs } = this.#walk;
    if (beganAt - walkBeganAt > Math.max(WALK_MS_MAX, WALK_PER_BEGINNING * beginningMs)) this.#place = null;
    const place = this.#place;
    const limit = this.#rows;
    const fullGroups = waiting.fullGroups();
    const values = [taken, fullGroups, limit, this.#limits.bytesMax, ...(place ?? [])];
    const text = place === null ? this.#statements.begin : this.#statements.onward;
    const { rows } = await this.#pool.query<Row>(text, values);
    const now = this.#clock.monotonic();
    if (place === null) this.#walk = { beganAt, beginningMs: now - beganAt, isComplete: true };
    const { dropped } = waiting.add(rows);
    if (fullGroups.length + dropped > 0) this.#walk.isComplete = false;
    const isEnd = this.#goOn(rows, limit);
    if (isEnd) this.#readableAt = now + Math.max(PAUSE_MS, PAUSE_PER_READ * (now - beganAt));
    return {
      count: rows.length,
      isEmpty: isEnd && place === null && rows.length === 0,
      isEnd: isEnd && this.#walk.isComplete,
    };
  }

  /**
   * Adds the next rows of groups that are short here and may have more. A walk gets to a group's next rows only past
   * all others: with a million rows in one group it came by once a second, and took 16.
   */
  async readGroups(waiting: WaitingRows, taken: readonly string[]): Promise<void> {
    const beganAt = this.#clock.monotonic();
    const short = waiting.shortGroups().slice(0, GROUPS_MAX);
    const limit = short.length * GROUP_ROWS_MAX;
    const values = [taken, short, limit, this.#limits.bytesMax, GROUP_ROWS_MAX];
    const { rows } = await this.#pool.query<Row>(this.#statements.groups, values);
    const now = this.#clock.monotonic();
    this.#groupsReadableAt = now + PAUSE_PER_READ * (now - beganAt);
    // Groups of which the bound of bytes has cut off rows are read again.
    if (!this.#isCut(rows, limit)) waiting.forget(short);
    waiting.add(rows);
  }

  /** Returns whether this was the end of the walk. */
  #goOn(rows: readonly Row[], limit: number): boolean {
    const last = rows.at(-1);
    const isCut = this.#isCut(rows, limit);
    this.#rows = isCut ? Math.max(ROWS_MIN, rows.length * 2) : Math.min(this.#limits.rowsMax, this.#rows * 2);
    if (last === undefined || (rows.length < limit && !isCut)) {
      this.#place = null;
      return true;
    }
    this.#place = this.#table.order.map((column) => (column === 'id' ? last.id : last.createdAt));
    return false;
  }

  #isCut(rows: readonly Row[], limit: number): boolean {
    const read = rows.reduce((sum, { bytes, body }) => sum + (body === null ? 0 : bytes), 0);
    return rows.length < limit && read > this.#limits.bytesMax / 2;
  }

  async isEmpty(): Promise<boolean> {
    const { rows } = await this.#pool.query<{ isEmpty: boolean }>(this.#statements.isEmpty);
    return rows[0]!.isEmpty;
  }

  /**
   * Those that another transaction has locked, once such a one was met: a transaction that stays open would keep all
   * others from being deleted with it.
   */
  async locked(ids: readonly string[]): Promise<ReadonlySet<string>> {
    if (!this.#meetsLocks) return new Set();
    const { rows } = await this.#pool.query<{ id: string }>(this.#statements.locked, [ids]);
    this.#meetsLocks = rows.length > 0;
    return new Set(rows.map(({ id }) => id));
  }

  /** Returns false where one is locked. Throws OutboxError where the database keeps them as they are. */
  removePublished(ids: readonly string[]): Promise<boolean> {
    return this.#settle(this.#statements.published, [ids]);
  }

  /** Returns false where one is locked. Throws OutboxError where the database keeps them as they are. */
  setAside(refused: ReadonlyMap<string, Refusal>): Promise<boolean> {
    const errors = [...refused.values()].map((refusal) => JSON.stringify(refusal));
    return this.#settle(this.#statements.refused, [[...refused.keys()], errors]);
  }

  async #settle(statement: string, values: [ids: readonly string[], errors?: readonly string[]]): Promise<boolean> {
    try {
      await this.#write(statement, values);
      return true;
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      this.#meetsLocks = true;
      return false;
    }
  }

  /** Rows that are gone somebody has deleted meanwhile. Those that are pending still would be published for ever. */
  async #write(statement: string, values: [ids: readonly string[], errors?: readonly string[]]): Promise<void> {
    const [ids] = values;
    const { rowCount } = await this.#pool.query(statement, values);
    if (rowCount === ids.length) return;
    const { rows } = await this.#pool.query<{ count: number }>(this.#statements.pending, [ids]);
    const { count } = rows[0]!;
    if (count === 0) return;
    const [verb] = statement.trim().split(' ');
    throw new OutboxError(
      `${count} of ${ids.length} rows of ${this.#table.name} that are done with are pending after their ${verb}: ` +
        'check its triggers, and its row security policies for this user',
    );
  }
}
