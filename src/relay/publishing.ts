// The work of the relay whose turn it is, in three loops that go on beside each other: rows are read, published in
// batches, and deleted. A row is on its way from its reading until its deletion is committed; no transaction is open
// meanwhile.
import type { Postrider } from '../../sdk/typescript/src/postrider.ts';
import { delay, type Clock } from '../runtime/clock.ts';
import type { Backoff } from './backoff.ts';
import type { Refusal, Row } from './outbox-table.ts';
import type { Outbox } from './outbox.ts';
import { publishBatch, refuseBeforehand, rowBytesMax, type Trouble, type Verdict } from './publish.ts';
import type { Turn } from './turn.ts';
import { WaitingRows } from './waiting-rows.ts';

/** The key is refused, so that no row can be published. */
export class Denied extends Error {}

/** What is to be written into the outbox: null for published, why for refused. Outlives the loss of a connection. */
export type Unsettled = Map<string, Refusal | null>;

type PublishingOptions = {
  outbox: Outbox;
  turn: Turn;
  service: Postrider;
  backoff: Backoff;
  clock: Clock;
  batchSize: number;
  /** To end when everything that was there is published. */
  isOnce: boolean;
  unsettled: Unsettled;
  onSettled: (settled: { published: number; refused: ReadonlyMap<string, Refusal> }) => void;
  /** Of rows that are done with another transaction has so many locked, which wait; 0: no more. */
  onLocked: (count: number, pauseMs: number) => void;
  onTrouble: (trouble: Trouble, pauseMs: number) => void;
  onRecovery: () => void;
};

const REQUESTS_MAX = 4;
const READ_AHEAD_BATCHES = 4;
const READ_AHEAD_BYTES = 10 * 1024 * 1024;
/** Those that are to be deleted are not to pile up where the database is slow. */
const UNSETTLED_BATCHES = 8;
/** Without the trigger, or where it was missed. */
const POLL_MS = 1_000;
/** While transactions are under way that have found nobody waiting. */
const SOON_MS = 25;

export class Publishing {
  readonly #options: PublishingOptions;
  readonly #waiting = new WaitingRows();
  /** Ids of rows that are with the service. */
  readonly #sent = new Set<string>();
  #requests = 0;
  #isEnding = false;
  /** There is nothing more to read: of `isOnce`. */
  #isReadOut = false;
  #hasLocked = false;
  #change = Promise.withResolvers<void>();

  constructor(options: PublishingOptions) {
    this.#options = options;
  }

  /** Resolves when it was ended, or all is published; what is with the service then is waited for and settled. */
  async run(): Promise<void> {
    const guarded = async (loop: Promise<void>): Promise<void> => {
      try {
        await loop;
      } catch (error) {
        this.end();
        throw error;
      }
    };
    const publishers = Array.from({ length: REQUESTS_MAX }, () => guarded(this.#publish()));
    const published = Promise.allSettled(publishers).then(() => this.end());
    const loops = [guarded(this.#read()), ...publishers, guarded(this.#settle()), published];
    const results = await Promise.allSettled(loops);
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  end(): void {
    this.#isEnding = true;
    this.#options.turn.wake();
    this.#changed();
  }

  // ── Read ──

  async #read(): Promise<void> {
    const { outbox, turn, isOnce } = this.#options;
    while (!this.#isEnding) {
      if (!this.#hasRoom()) {
        await this.#nextChange();
        continue;
      }
      if (outbox.groupsPauseMs(this.#waiting) === 0) {
        await outbox.readGroups(this.#waiting, this.#taken());
        this.#changed();
      }
      // The walk has its turn whatever the groups took: there are others behind them.
      if (outbox.pauseMs > 0) await this.#nextChange(Math.min(outbox.pauseMs, outbox.groupsPauseMs(this.#waiting)));
      else {
        const taken = this.#taken();
        const { count, isEmpty, isEnd } = await outbox.read(this.#waiting, taken);
        if (count > 0) this.#changed();
        if (isOnce && isEnd) {
          this.#isReadOut = true;
          this.#changed();
          return;
        }
        if (count > 0) await turn.beBusy();
        else if (isEmpty && taken.length === 0) await this.#rest();
      }
    }
  }

  /** Ids of rows that are on their way. */
  #taken(): string[] {
    return [...this.#waiting.ids(), ...this.#sent, ...this.#options.unsettled.keys()];
  }

  #hasRoom(): boolean {
    const { batchSize, unsettled } = this.#options;
    const { count, bytes } = this.#waiting;
    if (unsettled.size >= UNSETTLED_BATCHES * batchSize) return false;
    return count < READ_AHEAD_BATCHES * batchSize && bytes < READ_AHEAD_BYTES;
  }

  /** Nothing is there, and nothing on its way. */
  async #rest(): Promise<void> {
    const { turn, outbox, clock } = this.#options;
    const wasIdle = turn.isIdle;
    const isIdle = await turn.beIdle();
    if (this.#isEnding) return;
    // Whoever inserted before the lock was there has told nobody: the rows are looked at once more first.
    if (isIdle && wasIdle) await turn.rest(POLL_MS);
    else if (!isIdle) await delay(clock, SOON_MS);
    outbox.beginAnew();
  }

  // ── Publish ──

  async #publish(): Promise<void> {
    const { backoff } = this.#options;
    while (!this.#isEnding && !this.#isDrained()) {
      const rows = backoff.pauseMs > 0 ? [] : this.#takeBatch();
      if (rows.length === 0) {
        await this.#nextChange(backoff.pauseMs > 0 ? backoff.pauseMs : undefined);
        continue;
      }
      this.#requests++;
      try {
        await this.#send(rows);
      } finally {
        this.#requests--;
        this.#changed();
      }
    }
  }

  /** While a request is out, only a full batch goes beside it: few rows in many requests cost more than they gain. */
  #takeBatch(): Row[] {
    const { batchSize } = this.#options;
    const bounds = { rowsMax: batchSize, bytesMax: rowBytesMax(batchSize), isFullOnly: this.#requests > 0 };
    const rows = this.#waiting.take(bounds);
    for (const { id } of rows) this.#sent.add(id);
    return rows;
  }

  #isDrained(): boolean {
    return this.#isReadOut && this.#requests === 0 && this.#waiting.count === 0;
  }

  async #send(rows: readonly Row[]): Promise<void> {
    const sendable = rows.filter((row) => {
      const refusal = refuseBeforehand(row);
      if (refusal !== null) this.#conclude(row, { kind: 'refused', refusal });
      return refusal === null;
    });
    if (sendable.length === 0) return;
    const answer = await publishBatch(sendable, this.#options.service);
    if (answer.kind === 'answered') this.#concludeAll(sendable, answer.verdicts);
    else if (answer.kind === 'trouble') this.#giveBack(sendable, answer.trouble);
    else if (answer.kind === 'denied') throw new Denied(answer.message);
    else if (sendable.length === 1 && answer.kind === 'refused') this.#conclude(sendable[0]!, answer);
    else if (sendable.length === 1 && answer.kind === 'too_large') this.#giveBack(sendable, answer.trouble);
    else {
      // They are too many, or one of them is at fault, and the answer does not say which.
      const middle = Math.ceil(sendable.length / 2);
      await this.#send(sendable.slice(0, middle));
      await this.#send(sendable.slice(middle));
    }
  }

  #concludeAll(rows: readonly Row[], verdicts: readonly Verdict[]): void {
    const { backoff, onRecovery } = this.#options;
    const later: Row[] = [];
    let trouble: Trouble | null = null;
    for (const [i, row] of rows.entries()) {
      const verdict = verdicts[i]!;
      if (verdict.kind !== 'later') this.#conclude(row, verdict);
      else {
        later.push(row);
        trouble ??= verdict.trouble;
      }
    }
    if (later.length < rows.length && backoff.succeed()) onRecovery();
    if (trouble !== null) this.#giveBack(later, trouble);
  }

  #conclude(row: Row, verdict: Exclude<Verdict, { kind: 'later' }>): void {
    this.#options.unsettled.set(row.id, verdict.kind === 'refused' ? verdict.refusal : null);
    this.#sent.delete(row.id);
    this.#waiting.release(row);
  }

  #giveBack(rows: readonly Row[], trouble: Trouble): void {
    for (const { id } of rows) this.#sent.delete(id);
    this.#waiting.giveBack(rows);
    const { backoff, onTrouble } = this.#options;
    // Requests that were out together fail together.
    const isTold = backoff.pauseMs > 0;
    const pauseMs = backoff.fail(trouble.waitMs);
    if (!isTold) onTrouble(trouble, pauseMs);
  }

  // ── Settle ──

  /** Goes on until nothing more can come. Rows that are locked then stay, and are published again under their keys. */
  async #settle(): Promise<void> {
    const { unsettled } = this.#options;
    const isLast = (): boolean => this.#isEnding && this.#requests === 0;
    for (;;) {
      const wasLast = isLast();
      const isStuck = unsettled.size > 0 && !(await this.#settleFree());
      if (unsettled.size === 0 ? isLast() : isStuck && wasLast) return;
      if (unsettled.size === 0) await this.#nextChange();
      else if (isStuck) await this.#nextChange(POLL_MS);
    }
  }

  /** Returns false where all are locked. */
  async #settleFree(): Promise<boolean> {
    const { outbox, unsettled, onSettled } = this.#options;
    const locked = await outbox.locked([...unsettled.keys()]);
    this.#tellOfLocked(locked.size);
    const settled = [...unsettled].filter(([id]) => !locked.has(id));
    if (settled.length === 0) return false;
    const published = settled.filter(([, refusal]) => refusal === null).map(([id]) => id);
    const refused = new Map(settled.filter((one): one is [string, Refusal] => one[1] !== null));
    if (published.length > 0 && !(await outbox.removePublished(published))) return true;
    if (refused.size > 0 && !(await outbox.setAside(refused))) return true;
    for (const [id] of settled) unsettled.delete(id);
    onSettled({ published: published.length, refused });
    this.#changed();
    return true;
  }

  #tellOfLocked(count: number): void {
    if (this.#hasLocked === count > 0) return;
    this.#hasLocked = count > 0;
    this.#options.onLocked(count, POLL_MS);
  }

  // ── Telling each other ──

  #changed(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }

  async #nextChange(msMax?: number): Promise<void> {
    const { promise } = this.#change;
    await (msMax === undefined ? promise : Promise.race([promise, delay(this.#options.clock, msMax)]));
  }
}
