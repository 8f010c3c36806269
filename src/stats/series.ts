// Counts over time, one point for each step: what charts are drawn from.
import { OUTCOMES } from '../model/attempt.ts';
import { formatTime } from '../model/time.ts';
import { createBreaks, type Clock } from '../runtime/clock.ts';
import { HOUR_MS, MINUTE_MS } from './counter.ts';
import { Counts } from './counts.ts';
import { MINUTES_KEPT_MS, type CountsReader, type Subject } from './reader.ts';

export const STEPS = ['1m', '5m', '1h', '1d'] as const;
export type Step = (typeof STEPS)[number];
export const POINTS_MAX = 1_500;
/** A point takes up to some hundredths of a millisecond: all else gets its turn in between. */
const TURN_MS = 3;

export const STEP_MS: Readonly<Record<Step, number>> = {
  '1m': MINUTE_MS,
  '5m': 5 * MINUTE_MS,
  '1h': HOUR_MS,
  '1d': 24 * HOUR_MS,
};

export type SeriesRequest = { since: number; until: number; step: Step };

/** How many steps there are from the one with `since` on; all begin at whole multiples, in UTC. */
export function countPoints({ since, until, step }: SeriesRequest): number {
  const stepMs = STEP_MS[step];
  return Math.max(0, Math.ceil(until / stepMs) - Math.floor(since / stepMs));
}

/**
 * Every step of the range, zeros included. Of what lies further back than minutes are kept only hours are known: with a
 * shorter step their counts stand in the hour's first, so that sums are right. `subject`: null for what there is not.
 */
export async function readSeries(reader: CountsReader, subject: Subject | null, request: SeriesRequest, clock: Clock) {
  const { until, step } = request;
  const stepMs = STEP_MS[step];
  const since = Math.floor(request.since / stepMs) * stepMs;
  const points = Array.from({ length: countPoints(request) }, (): Counts | null => null);
  const add = (at: number, counts: Counts): void => {
    const index = Math.floor((at - since) / stepMs);
    const point = (points[index] ??= new Counts());
    point.merge(counts);
  };
  const hoursUntil = stepMs < HOUR_MS ? Math.ceil((clock.now() - MINUTES_KEPT_MS) / HOUR_MS) * HOUR_MS : until;
  if (subject !== null) {
    await reader.each({ ...subject, span: 'hour' }, { since, until: Math.min(until, hoursUntil) }, add);
    await reader.each({ ...subject, span: 'minute' }, { since: Math.max(since, hoursUntil), until }, add);
  }
  const data: Point[] = [];
  const takeBreak = createBreaks(clock, TURN_MS);
  for (const [index, counts] of points.entries()) {
    await takeBreak();
    data.push({ at: formatTime(since + index * stepMs), ...(counts === null ? NOTHING : figuresOf(counts)) });
  }
  return { step, data };
}

type Point = { at: string } & ReturnType<typeof figuresOf>;

function figuresOf(counts: Counts) {
  return {
    events_accepted: counts.eventsAccepted,
    deliveries_scheduled: counts.deliveriesScheduled,
    attempts: Object.fromEntries(OUTCOMES.map((outcome, index) => [outcome, counts.attempts[index]!])),
    deliveries_succeeded: counts.deliveriesSucceeded,
    deliveries_dead: counts.deliveriesDead,
    first_attempt_seconds: counts.firstAttempt.quantiles(),
    attempt_seconds: counts.attempt.quantiles(),
  };
}

const NOTHING = figuresOf(new Counts());
