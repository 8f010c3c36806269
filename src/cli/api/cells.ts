// What tables show of times, states and shares.
import { formatTime } from '../../model/time.ts';
import { paint, type Style } from '../table.ts';

const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
] as const;

/** `3 min ago`, `in 5 s`: of a time that the service wrote. */
export function relativeTime(text: string | null, now: number): string {
  if (text === null) return '-';
  const distance = Date.parse(text) - now;
  const length = Math.abs(distance);
  const [unitMs, unit] = UNITS.find(([one]) => length >= one) ?? [1_000, 's'];
  const shown = `${Math.floor(length / unitMs)} ${unit}`;
  return distance > 0 ? `in ${shown}` : `${shown} ago`;
}

/** `09:30:00Z`, for lines that come as things happen. */
export function timeOfDay(at: number | string): string {
  const text = typeof at === 'number' ? formatTime(at) : at;
  return `${text.slice('2026-01-31T'.length, '2026-01-31T09:30:00'.length)}Z`;
}

const STYLES: Record<string, Style> = {
  succeeded: 'green',
  healthy: 'green',
  active: 'green',
  done: 'green',
  retrying: 'yellow',
  paused: 'yellow',
  running: 'cyan',
  dead: 'red',
  failing: 'red',
  failed: 'red',
};

export function styleOfState(state: string): Style {
  return STYLES[state] ?? 'reset';
}

export function paintState(state: string, text = state): string {
  return Object.hasOwn(STYLES, state) ? paint(STYLES[state]!, text) : text;
}

/** `share`: of 1; null: of nothing. */
export function percentage(share: number | null): string {
  return share === null ? '-' : `${(share * 100).toFixed(1)} %`;
}
