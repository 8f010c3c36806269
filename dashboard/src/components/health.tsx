// How a destination is doing, in the service's own words and figures.
import { useQuery } from '@tanstack/react-query';
import { healthQuery } from '../api/queries.ts';
import { count, percent, plural, seconds } from '../words/numbers.ts';
import { sentence } from '../words/sentence.ts';
import { useMode } from './environment.ts';
import { DueTime, Time } from './show.tsx';

const TONE = { healthy: 'good', failing: 'bad', paused: 'wait', idle: '' } as const;

export function HealthCard({ id }: { id: string }) {
  const mode = useMode();
  const { data: health } = useQuery(healthQuery(mode, id));
  if (health === undefined) return null;
  const share = (value: number | null): string => (value === null ? '–' : percent(value));
  return (
    <div className="stack-small">
      {health.state !== 'paused' && (
        <p className={`callout ${TONE[health.state]}`}>
          <span className="strong">{sentence(health.summary)}</span>
        </p>
      )}
      <dl className="figures by-three" aria-label="Health">
        <div className="figure">
          <dt>Success, 1 h</dt>
          <dd>{share(health.success_rate_1h)}</dd>
          <dd className="note">{share(health.success_rate_24h)} in 24 h</dd>
        </div>
        <div className="figure">
          <dt>Attempt time, p50</dt>
          <dd>{health.attempt_seconds.p50 === null ? '–' : seconds(health.attempt_seconds.p50)}</dd>
          <dd className="note">
            p99 {health.attempt_seconds.p99 === null ? '–' : seconds(health.attempt_seconds.p99)}
          </dd>
        </div>
        <div className="figure">
          <dt>In flight</dt>
          <dd>{count(health.in_flight)}</dd>
          <dd className="note">of {count(health.in_flight_limit)} just now</dd>
        </div>
        <div className="figure">
          <dt>Unfinished</dt>
          <dd>{count(health.unfinished)}</dd>
          {health.oldest_due_at !== null && (
            <dd className="note">
              oldest due <Time at={health.oldest_due_at} />
            </dd>
          )}
        </div>
        <div className="figure">
          <dt>Last success</dt>
          <dd>
            <Time at={health.last_success_at} none="none" />
          </dd>
          {health.consecutive_failures > 0 && (
            <dd className="note">{plural(health.consecutive_failures, 'failure')} since</dd>
          )}
        </div>
        <div className="figure">
          <dt>Next attempt</dt>
          <dd>
            {health.next_attempt_at === null ? (
              <span className="muted">none</span>
            ) : (
              <DueTime at={health.next_attempt_at} />
            )}
          </dd>
          {health.held_until !== null && (
            <dd className="note">
              asked to wait: <Time at={health.held_until} />
            </dd>
          )}
        </div>
      </dl>
    </div>
  );
}
