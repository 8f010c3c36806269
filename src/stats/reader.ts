// Reads what was counted of one subject: the rows of every process, and in the place of this one's what it has in
// memory, so that the node that is asked knows of what has just happened. The others' is ten seconds old at most.
import { createBreaks, type Clock } from '../runtime/clock.ts';
import type { CountsSubject, Store } from '../store/store.ts';
import { HOUR_MS, type Counter } from './counter.ts';
import { Counts, decodeCounts } from './counts.ts';

/** Minutes are kept for so long, hours for 90 days. */
export const MINUTES_KEPT_MS = 48 * HOUR_MS;
export const HOURS_KEPT_MS = 90 * 24 * HOUR_MS;

const ROWS_PER_READ = 1_000;
/** Unpacking a row takes some microseconds: all else gets its turn in between. */
const READING_TURN_MS = 3;

export type Subject = Omit<CountsSubject, 'span'>;
type Range = { since: number; until: number };

export type CountsReader = ReturnType<typeof createCountsReader>;

export function createCountsReader(store: Pick<Store, 'readCounts'>, counter: Counter, clock: Clock) {
  /** Hands on everything that began in the range. */
  const each = async (
    subject: CountsSubject,
    { since, until }: Range,
    onCounts: (at: number, counts: Counts) => void,
  ): Promise<void> => {
    if (since >= until) return;
    // Before the store is asked: what is stored and forgotten meanwhile would be in neither.
    const own = new Set<string>();
    for (const { at, writer, counts } of counter.read(subject)) {
      own.add(`${at}:${writer}`);
      if (at >= since && at < until) onCounts(at, counts);
    }
    const takeBreak = createBreaks(clock, READING_TURN_MS);
    let after: { at: number; writer: number } | null = null;
    for (;;) {
      const rows = await store.readCounts({ ...subject, since, until, after, limit: ROWS_PER_READ });
      for (const { at, writer, counts } of rows) {
        await takeBreak();
        if (!own.has(`${at}:${writer}`)) onCounts(at, decodeCounts(counts));
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < ROWS_PER_READ) return;
      after = { at: last.at, writer: last.writer };
    }
  };

  return {
    each,
    /** All of it together, to the minute, within the time that minutes are kept. */
    async total(subject: Subject, { since, until }: Range): Promise<Counts> {
      const sum = new Counts();
      const add = (_at: number, counts: Counts): void => sum.merge(counts);
      const firstHour = Math.min(until, Math.ceil(since / HOUR_MS) * HOUR_MS);
      await each({ ...subject, span: 'minute' }, { since, until: firstHour }, add);
      await each({ ...subject, span: 'hour' }, { since: firstHour, until }, add);
      return sum;
    },
  };
}
