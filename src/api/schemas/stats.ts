import { Type } from './type.ts';
import { DESTINATION_STATES } from '../../model/condition.ts';
import { OUTCOMES } from '../../model/attempt.ts';
import { POINTS_MAX, STEPS } from '../../stats/series.ts';
import { outcome } from './delivery.ts';
import { closed, FUTURE_TIME, id, named, nullable, oneOf, time, timeInput } from './fields.ts';

const count = (description: string) => Type.Integer({ minimum: 0, description });
const rate = (description: string) => Type.Number({ minimum: 0, description });
const share = (description: string) => nullable(Type.Number({ minimum: 0, maximum: 1, description }));
const seconds = nullable(Type.Number({ minimum: 0 }));

const quantiles = named(
  'Quantiles',
  closed(
    { p50: seconds, p95: seconds, p99: seconds },
    { description: 'Seconds, to within 5 %; null: there was nothing to measure.' },
  ),
);

export const destinationState = named(
  'DestinationState',
  oneOf(DESTINATION_STATES, {
    description:
      '`paused`: it gets no attempts. `failing`: nothing has succeeded since at least three failed attempts, or ' +
      'since one ten seconds ago. `idle`: nothing was attempted in 24 hours. `healthy`: none of these.',
  }),
);

const attempts = named(
  'AttemptsByOutcome',
  closed(Object.fromEntries(OUTCOMES.map((name) => [name, Type.Integer({ minimum: 0 })]))),
);

const point = named(
  'StatsPoint',
  closed({
    at: time('When the step begins.'),
    events_accepted: count('Of a destination always 0.'),
    deliveries_scheduled: count('Made for events and by replays of events.'),
    attempts,
    deliveries_succeeded: count('Deliveries that ended so in this step.'),
    deliveries_dead: count('Deliveries that ended so in this step, for whatever reason.'),
    first_attempt_seconds: quantiles,
    attempt_seconds: quantiles,
  }),
);

const step = named(
  'StatsStep',
  oneOf(STEPS, {
    description:
      'Steps begin at whole multiples of it, in UTC. Default: 1m; with `since` the shortest that makes at most ' +
      `${POINTS_MAX} points.`,
  }),
);

export const stats = named('Stats', closed({ step, data: Type.Array(point, { maxItems: POINTS_MAX }) }));

export const statsQuery = closed({
  since: Type.Optional(
    timeInput('From the step that has this time on. Default: an hour, 12 hours, 7 or 30 days back.'),
  ),
  until: Type.Optional(timeInput('Up to this time. Default: now.')),
  step: Type.Optional(step),
  destination_id: Type.Optional(id('dst')),
  event_type: Type.Optional(
    Type.String({
      description: 'Exactly this type; `other`: all that are not among the 200 busiest. Not with destination_id.',
      examples: ['order.paid'],
    }),
  ),
});

const trouble = named(
  'Trouble',
  closed({
    destination_id: id('dst'),
    name: nullable(Type.String()),
    state: destinationState,
    summary: Type.String({ examples: ['refuses connections since 14:02 UTC; 1,204 wait; next try in 40 s'] }),
    unfinished: count('Its deliveries that are pending or retrying.'),
    oldest_due_at: nullable(time('When the oldest of them was due; null: none is.')),
  }),
);

export const statsNow = named(
  'StatsNow',
  closed({
    events_per_second: rate('Over the last 60 s, as the other rates.'),
    attempts_per_second: rate('Attempts that ended.'),
    success_rate: share('Of these attempts; null: there was none.'),
    in_flight: count('Attempts on the wire.'),
    pending: count('Deliveries that are `pending`.'),
    retrying: count('Deliveries that are `retrying`.'),
    held: count('Of both together, those whose destination is paused or has asked for a pause by Retry-After.'),
    oldest_due_at: nullable(
      time('When the oldest was due of those that may go out and have not; null: there is none.'),
    ),
    dead_24h: count('Deliveries that ended `dead` in the last 24 hours.'),
    destinations: closed({
      active: count('Destinations of the status `active`, those that fail included.'),
      paused: count('Destinations of the status `paused`.'),
      failing: count('Destinations in the state `failing`.'),
    }),
    troubles: Type.Array(trouble, {
      maxItems: 20,
      description:
        'Destinations that fail or are paused, and have deliveries that wait or died in the last hour; worst first.',
    }),
  }),
);

const lastFailure = nullable(
  closed({
    at: time('When the attempt ended.'),
    outcome,
    response_code: nullable(Type.Integer()),
    error: nullable(Type.String()),
  }),
);

export const destinationHealth = named(
  'DestinationHealth',
  closed({
    state: destinationState,
    summary: Type.String({ description: 'One plain sentence.', examples: ['works; 12 wait'] }),
    success_rate_1h: share('Of the attempts in the last hour; null: there was none.'),
    success_rate_24h: share('Of the attempts in the last 24 hours; null: there was none.'),
    attempt_seconds: quantiles,
    consecutive_failures: count('Failed attempts since the last that succeeded, or since it was made active.'),
    failing_since: nullable(time('When the first of them ended; null: there is none.')),
    last_success_at: nullable(time('When the last attempt that succeeded ended; null: there was none in 90 days.')),
    last_failure: lastFailure,
    unfinished: count('Its deliveries that are pending or retrying.'),
    oldest_due_at: nullable(time('When the oldest of them was due; null: none is.')),
    in_flight: count('Attempts on the wire; with several nodes up to ten seconds old.'),
    in_flight_limit: count('How many there may be: max_in_flight, fewer while it fails.'),
    held_until: nullable(time('Until when it asked for a pause by Retry-After; null: it did not.', FUTURE_TIME)),
    next_attempt_at: nullable(
      time('When the next attempt may go out; null: none waits, or it is paused.', FUTURE_TIME),
    ),
  }),
);
