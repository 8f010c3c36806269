// A time on the command line: as the API takes it, or so long ago.
import { parseDuration, UsageError } from '../../config.ts';
import { formatTime, parseBound, TIME_RULE } from '../../model/time.ts';
import { systemClock } from '../../runtime/clock.ts';
import { whereGiven, type CommandLine, type Flag } from '../command.ts';

const WHEN = 'a time, a date, or so long ago, to the minute (90s, 2h, 7d)';
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

export const RANGE_FLAGS = {
  since: { type: 'string', meaning: `from then on: ${WHEN}`, value: 'WHEN' },
  until: { type: 'string', meaning: 'before then', value: 'WHEN' },
} as const satisfies Record<string, Flag>;

/** Only those that are given, as RFC 3339. Throws UsageError. */
export function readRange(line: CommandLine): { since?: string; until?: string } {
  return whereGiven({ since: timeOf(line, 'since'), until: timeOf(line, 'until') });
}

function timeOf(line: CommandLine, flag: 'since' | 'until'): string | null {
  const text = line.textOf(flag);
  if (text === null) return null;
  const duration = parseDuration(text);
  const at = duration === null ? parseBound(text) : ago(duration);
  if (at === null) throw new UsageError(`--${flag}: "${text}" is no time; ${TIME_RULE}, or 90s, 2h, 7d ago`);
  return formatTime(at);
}

/** Down to the minute, or the second: the service knows a command that is given twice by its times. */
function ago(durationMs: number): number {
  const at = systemClock.now() - durationMs;
  return at - (at % (durationMs < MINUTE_MS ? SECOND_MS : MINUTE_MS));
}
