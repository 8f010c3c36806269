// Times for people: relative in the text, absolute on hover, in the zone that is chosen.

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** "12 s ago", "in 4 min", "3 d ago": one unit, the largest that fits. */
export function relative(at: number, now: number): string {
  const distance = at - now;
  const ms = Math.abs(distance);
  if (ms < 2 * SECOND) return 'now';
  const text = span(Math.floor(ms / SECOND) * SECOND);
  return distance < 0 ? `${text} ago` : `in ${text}`;
}

/** "340 ms", "1.2 s", "4 min", "3 h", "12 d". */
export function span(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < 10 * SECOND) return `${trim(ms / SECOND)} s`;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)} h`;
  return `${Math.floor(ms / DAY)} d`;
}

/** Seconds between the ticks of a scale, such that `span` says each of them to the full. */
// prettier-ignore
export const SPAN_STEPS = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 60, 120, 300, 600, 900,
  3_600, 7_200, 10_800, 21_600, 43_200, 86_400, 172_800, 432_000, 864_000,
];

function trim(value: number): string {
  return String(Number(value.toFixed(1)));
}

/** "01:59:58" of what remains. */
export function countdown(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / SECOND));
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, '0')).join(':');
}

export function absolute(at: number, isUtc: boolean): string {
  const text = isUtc ? new Date(at).toISOString() : localIso(at);
  return `${text.slice(0, 10)} ${text.slice(11, 23)} ${isUtc ? 'UTC' : offsetOf(at)}`;
}

/** To the second, for where there is little room. */
export function clockTime(at: number, isUtc: boolean): string {
  return (isUtc ? new Date(at).toISOString() : localIso(at)).slice(11, 19);
}

function localIso(at: number): string {
  return new Date(at - new Date(at).getTimezoneOffset() * MINUTE).toISOString();
}

function offsetOf(at: number): string {
  const minutes = -new Date(at).getTimezoneOffset();
  const digits = (value: number): string => String(value).padStart(2, '0');
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '−' : '+'}${digits(Math.floor(size / 60))}:${digits(size % 60)}`;
}

/** As a browser's field for date and time has it: "2026-01-31T09:30:00". */
export function wallTime(at: string, isUtc: boolean): string {
  return (isUtc ? new Date(at).toISOString() : localIso(Date.parse(at))).slice(0, 19);
}

/** Null: it is none, or none yet. */
export function momentOf(wall: string, isUtc: boolean): string | null {
  const moment = new Date(isUtc ? `${wall}Z` : wall);
  return Number.isNaN(moment.getTime()) ? null : moment.toISOString();
}
