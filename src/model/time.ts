// Times as the API writes them, and as callers do.

/** RFC 3339 in UTC with milliseconds: `2026-01-31T09:30:00.000Z`. Takes Unix ms. */
export function formatTime(at: number): string {
  if (at !== lastAt) {
    lastText = new Date(at).toISOString();
    lastAt = at;
  }
  return lastText;
}

/** Of Unix ms. */
export function formatTimeOrNull(at: number | null): string | null {
  return at === null ? null : formatTime(at);
}

// An answer and a webhook each have several times, mostly the same one.
let lastAt = 0;
let lastText = new Date(0).toISOString();

// ── As callers write them: RFC 3339 with any offset, a date alone, or a time without seconds ──

const DATE = String.raw`(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])`;
const HOUR = String.raw`([01]\d|2[0-3]):([0-5]\d)`;
const TIME = String.raw`${HOUR}(?::([0-5]\d)(?:\.(\d+))?)?`;
const OFFSET = `(?:[Zz]|([+-])${HOUR})`;
/** Whether the month has such a day is another matter. */
export const TIME_PATTERN = `^${DATE}(?:[Tt]${TIME}${OFFSET})?$`;
const FORM = new RegExp(TIME_PATTERN);
const LENGTH_MAX = 64;

export const TIME_RULE =
  'write a time such as 2026-01-31T09:30:00Z or 2026-01-31T09:30:00.250+02:00, or a date such as 2026-01-31';

/**
 * Unix ms of a time in the years 0000-9999 (digits beyond milliseconds are dropped); null when it is no such time:
 * another form, no offset, a day or time that does not exist. A leap second is refused: nothing here can hold it.
 */
export function parseTime(text: string): number | null {
  return parse(text)?.time ?? null;
}

/**
 * The same for an end of a range, rounded up: what is stored has whole milliseconds, of which the last before
 * 09:30:00.250456 is .250. So an inclusive beginning there leaves it out, and an exclusive end takes it in.
 */
export function parseBound(text: string): number | null {
  const parsed = parse(text);
  return parsed === null ? null : parsed.time + (parsed.isFiner ? 1 : 0);
}

/** `isFiner`: it is later than `time`, by less than a millisecond. */
function parse(text: string): { time: number; isFiner: boolean } | null {
  const match = text.length <= LENGTH_MAX ? FORM.exec(text) : null;
  if (match === null) return null;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0));
  const fraction = match[7] ?? '';
  const milliseconds = Number(fraction.padEnd(3, '0').slice(0, 3));
  const date = dateOf(year!, month!, day!);
  if (date === null) return null;
  const offset = offsetMs(match[8], Number(match[9] ?? 0), Number(match[10] ?? 0));
  const time = date + hour! * 3_600_000 + minute! * 60_000 + second! * 1_000 + milliseconds - offset;
  return time >= FIRST_TIME && time <= LAST_TIME ? { time, isFiner: /[1-9]/.test(fraction.slice(3)) } : null;
}

/** RFC 3339 has four digits for the year. */
const FIRST_TIME = Date.parse('0000-01-01T00:00:00.000Z');
const LAST_TIME = Date.parse('9999-12-31T23:59:59.999Z');

/** The start of a day that exists, in UTC. */
function dateOf(year: number, month: number, day: number): number | null {
  const date = new Date(0);
  // Not Date.UTC, which takes the years 0-99 for 1900-1999.
  date.setUTCFullYear(year, month - 1, day);
  // A day that does not exist ends up in another month.
  return date.getUTCMonth() === month - 1 ? date.getTime() : null;
}

function offsetMs(sign: string | undefined, hours: number, minutes: number): number {
  const offset = (hours * 60 + minutes) * 60_000;
  return sign === '-' ? -offset : offset;
}
