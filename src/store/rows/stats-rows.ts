// Counts, what was last heard of destinations, and their trouble, between rows and values.
import type { DestinationActivity } from '../../model/condition.ts';
import type { DestinationHealth } from '../../model/destination.ts';
import { formatId, idBytes } from '../../model/id.ts';
import type { CountsSubject, StoredCounts } from '../store.ts';
import { createCode, nameOrNull, numberOrNull, outcomeCode, type ColumnKind } from './codec.ts';

const spanCode = createCode<CountsSubject['span']>({ minute: 0, hour: 1 });
const kindCode = createCode<CountsSubject['kind']>({ environment: 0, destination: 1, event_type: 2, pulse: 3 });

export const MINUTES = spanCode.numberOf('minute');
export const HOURS = spanCode.numberOf('hour');

/** What begins the key: span, environment, kind, subject. */
export function subjectValues({ span, environment, kind, subject }: CountsSubject) {
  const bytes = kind === 'destination' ? idBytes(subject) : Buffer.from(subject);
  return [spanCode.numberOf(span), environment, kindCode.numberOf(kind), bytes] as const;
}

/** In the order of the table's columns. */
export function countsValues(row: StoredCounts) {
  return [...subjectValues(row), row.at, row.writer, row.counts] as const;
}

export const ACTIVITY_KINDS: Readonly<Record<keyof ActivityRow, ColumnKind>> = {
  destination_id: 'id',
  environment: 'integer',
  reported_at: 'integer',
  last_attempt_at: 'integer',
  last_success_at: 'integer',
  failed_at: 'integer',
  failed_outcome: 'integer',
  failed_code: 'integer',
  failed_error: 'words',
  in_flight: 'integer',
  in_flight_limit: 'integer',
};

export const ACTIVITY_COLUMNS: readonly string[] = Object.keys(ACTIVITY_KINDS);

/** In the order of ACTIVITY_COLUMNS. */
export function activityValues(report: DestinationActivity) {
  const { destinationId, environment, reportedAt, lastAttemptAt, lastSuccessAt, lastFailure } = report;
  return [
    idBytes(destinationId),
    environment,
    reportedAt,
    lastAttemptAt,
    lastSuccessAt,
    lastFailure?.at ?? null,
    numberOrNull(outcomeCode, lastFailure?.outcome ?? null),
    lastFailure?.responseCode ?? null,
    lastFailure?.error ?? null,
    report.inFlight,
    report.inFlightLimit,
  ] as const;
}

export type ActivityRow = {
  destination_id: Uint8Array;
  environment: number;
  reported_at: number;
  last_attempt_at: number | null;
  last_success_at: number | null;
  failed_at: number | null;
  failed_outcome: number | null;
  failed_code: number | null;
  failed_error: string | null;
  in_flight: number;
  in_flight_limit: number;
};

export function toActivity(row: ActivityRow): DestinationActivity {
  const outcome = nameOrNull(outcomeCode, row.failed_outcome);
  return {
    destinationId: formatId('dst', row.destination_id),
    environment: row.environment,
    reportedAt: row.reported_at,
    lastAttemptAt: row.last_attempt_at,
    lastSuccessAt: row.last_success_at,
    lastFailure:
      row.failed_at === null || outcome === null
        ? null
        : { at: row.failed_at, outcome, responseCode: row.failed_code, error: row.failed_error },
    inFlight: row.in_flight,
    inFlightLimit: row.in_flight_limit,
  };
}

export type HealthRow = {
  destination_id: Uint8Array;
  failing_since: number | null;
  failure_count: number;
  held_until: number | null;
};

export function toHealth(row: HealthRow): DestinationHealth {
  return {
    destinationId: formatId('dst', row.destination_id),
    failingSince: row.failing_since,
    failureCount: row.failure_count,
    heldUntil: row.held_until,
  };
}

/**
 * How a report meets the row that is there, which may be a later one of another node: `ON CONFLICT DO UPDATE` follows.
 * `latest`: the dialect's function for the greater of two that may be null.
 */
export function activityUpdate(latest: (a: string, b: string) => string): string {
  const whole = ['environment', 'in_flight', 'in_flight_limit'].map((name) => `${name} = excluded.${name}`);
  const times = ['reported_at', 'last_attempt_at', 'last_success_at'].map(
    (name) => `${name} = ${latest(`excluded.${name}`, `a.${name}`)}`,
  );
  const isNewer = 'excluded.failed_at >= coalesce(a.failed_at, 0)';
  const failure = ['failed_at', 'failed_outcome', 'failed_code', 'failed_error'].map(
    (name) => `${name} = CASE WHEN ${isNewer} THEN excluded.${name} ELSE a.${name} END`,
  );
  return `SET ${[...whole, ...times, ...failure].join(', ')}`;
}
