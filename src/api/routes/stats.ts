// /v1/stats: how much happens and how it goes, over time and just now; and how one destination is doing.
import type { Static } from 'typebox';
import { ApiError } from '../../model/error.ts';
import { isId } from '../../model/id.ts';
import { formatTime, formatTimeOrNull } from '../../model/time.ts';
import { OTHER_TYPES } from '../../stats/counter.ts';
import type { Subject } from '../../stats/reader.ts';
import { POINTS_MAX, STEPS, STEP_MS, countPoints, type SeriesRequest, type Step } from '../../stats/series.ts';
import { readEventType } from '../input/event-input.ts';
import { notFound, readPathId } from '../input/path-id.ts';
import { readTimeRange } from '../input/time-range.ts';
import { present } from '../output/present.ts';
import type { ApiApp } from '../route-config.ts';
import { destinationHealth, stats, statsNow, statsQuery } from '../schemas/stats.ts';
import type { ApiServices } from '../services.ts';

const tags = ['Stats'];

/** How far back a range goes that has no beginning. */
const HOUR_MS = 3_600_000;
const DEFAULT_RANGE_MS: Readonly<Record<Step, number>> = {
  '1m': HOUR_MS,
  '5m': 12 * HOUR_MS,
  '1h': 7 * 24 * HOUR_MS,
  '1d': 30 * 24 * HOUR_MS,
};

export function addStatsRoutes(app: ApiApp, services: ApiServices): void {
  const { store, clock, stats: answers } = services;

  app.get('/v1/stats', readingSeries, async ({ caller, query }) => {
    const subject = readSubject(caller.environment, query);
    return answers.series(subject, readSeriesRequest(query, clock.now()));
  });

  app.get('/v1/stats/now', readingNow, async ({ caller }) => {
    const { dead24h, troubles, ...now } = await answers.now(caller.environment);
    return { ...present(now), dead_24h: dead24h, troubles: troubles.map((trouble) => present(trouble)) };
  });

  app.get('/v1/destinations/:id/health', readingHealth, async ({ caller, params }) => {
    const id = readPathId(params, 'dst');
    const destination = await store.readDestination({ environment: caller.environment, id });
    if (destination === null) throw notFound('destination_not_found');
    const { successRate1h, successRate24h, lastFailure, failingSince, heldUntil, ...health } =
      await answers.health(destination);
    return {
      ...present(health),
      failing_since: formatTimeOrNull(failingSince),
      held_until: formatTimeOrNull(heldUntil),
      success_rate_1h: successRate1h,
      success_rate_24h: successRate24h,
      last_failure: lastFailure === null ? null : { ...present(lastFailure), at: formatTime(lastFailure.at) },
    };
  });
}

const readingSeries = {
  schema: {
    tags,
    operationId: 'readStats',
    summary: 'Read what was counted, step by step',
    description:
      'Every step of the range, zeros included, of the environment, one destination or one event type. Minutes are ' +
      'kept for 48 hours, hours for 90 days: with a step below 1h, what lies further back stands in the first step ' +
      'of its hour. By event type, deliveries that expire or whose destination is deleted are not counted as dead. ' +
      'A step that runs has what the node that is asked has counted, and what the others had ten seconds ago. A ' +
      'crash loses ten seconds at most.',
    querystring: statsQuery,
    response: { 200: stats },
  },
  config: { scope: 'read', errors: ['invalid_event_type'] },
} as const;

const readingNow = {
  schema: {
    tags,
    operationId: 'readStatsNow',
    summary: 'Read how things are just now, and what is in trouble',
    description:
      'Of the environment, on all nodes: what other nodes tell is up to ten seconds old, and the number of what ' +
      'waits up to a minute.',
    response: { 200: statsNow },
  },
  config: { scope: 'read', errors: [] },
} as const;

const readingHealth = {
  schema: {
    tags: ['Destinations'],
    operationId: 'readDestinationHealth',
    summary: 'Read how a destination is doing',
    response: { 200: destinationHealth },
  },
  config: { scope: 'read', errors: ['destination_not_found'] },
} as const;

type Query = Static<typeof statsQuery>;

/** Null: an id that is none. Of an unknown id or type nothing was counted. Throws ApiError. */
function readSubject(environment: number, { destination_id: id, event_type: type }: Query): Subject | null {
  if (id !== undefined && type !== undefined) {
    throw new ApiError('invalid_request', 'give "destination_id" or "event_type", not both', { param: 'event_type' });
  }
  if (type !== undefined) {
    const subject = type === OTHER_TYPES ? type : readEventType(type, 'event_type');
    return { environment, kind: 'event_type', subject };
  }
  if (id === undefined) return { environment, kind: 'environment', subject: '' };
  return isId('dst', id) ? { environment, kind: 'destination', subject: id } : null;
}

function readSeriesRequest(query: Query, now: number): SeriesRequest {
  const range = readTimeRange(query);
  const until = range.until ?? now;
  if (range.since === null) {
    const step = query.step ?? '1m';
    // Never before 1970: nothing was counted then, and before the year 0 there is no way to write a time.
    return checked({ since: Math.max(0, until - DEFAULT_RANGE_MS[step]), until, step });
  }
  const { since } = range;
  const fits = (step: Step): boolean => countPoints({ since, until, step }) <= POINTS_MAX;
  return checked({ since, until, step: query.step ?? STEPS.find(fits) ?? '1d' });
}

function checked(request: SeriesRequest): SeriesRequest {
  const points = countPoints(request);
  if (points <= POINTS_MAX) return request;
  const hours = Math.floor((POINTS_MAX * STEP_MS[request.step]) / HOUR_MS);
  throw new ApiError(
    'invalid_request',
    `this range has ${points} steps of ${request.step}, and at most ${POINTS_MAX} are answered (${hours} hours): ` +
      'use a longer step or a shorter range',
    { param: 'step' },
  );
}
