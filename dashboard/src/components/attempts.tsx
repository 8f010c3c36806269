// A delivery's attempts: on a line to scale, and one by one, each with what was answered and what to do about it.
import { useState, type ReactNode } from 'react';
import type { Attempt, DeliveryWithRetries } from '../api/client.ts';
import { plural } from '../words/numbers.ts';
import { explain, OUTCOME_WORD } from '../words/outcomes.ts';
import { span } from '../words/time.ts';
import { visible } from '../words/visible.ts';
import { JsonView } from './json-view.tsx';
import { DueTime, FullTime, Time, useTicking } from './show.tsx';

/** The last ones: a delivery that was sent by hand thousands of times would hold up the page for seconds. */
const SHOWN_MAX = 100;

const endOf = (attempt: Attempt): number => Date.parse(attempt.started_at) + attempt.duration_ms;
const isGood = (attempt: Attempt): boolean => attempt.outcome === 'succeeded';

export function AttemptScale({ delivery }: { delivery: DeliveryWithRetries }) {
  const { retries, created_at: createdAt, next_attempt_at: nextAt } = delivery;
  const now = useTicking((at) => at);
  const start = Date.parse(createdAt);
  const last = retries.at(-1);
  const end = Math.max(last === undefined ? start : endOf(last), nextAt === null ? 0 : Date.parse(nextAt));
  if (retries.length < 2 || end <= start) return null;
  const x = (at: number): number => 1 + (98 * (at - start)) / (end - start);
  return (
    <div>
      <svg className="scale" aria-hidden="true" preserveAspectRatio="none">
        <line className="axis" x1="1%" x2="99%" y1="18" y2="18" />
        {retries.map((attempt) => (
          <rect
            key={attempt.attempt}
            className={isGood(attempt) ? 'good' : 'bad'}
            x={`${x(Date.parse(attempt.started_at))}%`}
            y="8"
            // As an attribute, Firefox would complain of max().
            style={{ width: `max(4px, ${(98 * attempt.duration_ms) / (end - start)}%)` }}
            height="20"
            rx="1"
          />
        ))}
        {nextAt !== null && <circle className="next" cx={`${x(Date.parse(nextAt))}%`} cy="18" r="5" />}
      </svg>
      <p className="scale-ends">
        <Time at={createdAt} />
        <span>
          {span(Math.max(0, Math.min(now, end) - start))} {delivery.completed_at === null ? 'so far' : 'in all'}, to
          scale
        </span>
        <Time at={new Date(end).toISOString()} />
      </p>
    </div>
  );
}

export function AttemptTimeline({ delivery, whyNext }: { delivery: DeliveryWithRetries; whyNext: ReactNode }) {
  const [isWhole, setWhole] = useState(false);
  const attempts = delivery.retries;
  const left = isWhole ? 0 : Math.max(0, attempts.length - SHOWN_MAX);
  return (
    <ol className="timeline" aria-label="Attempts">
      <li>
        Scheduled <FullTime at={delivery.created_at} />
        {delivery.origin === 'replay' && <span className="muted"> by a replay</span>}
      </li>
      {left > 0 && (
        <li className="gap">
          <button type="button" className="link" onClick={() => setWhole(true)}>
            Show the first {plural(left, 'attempt')} too
          </button>
        </li>
      )}
      {attempts.slice(left).map((attempt, index, shown) => (
        <AttemptItem
          key={attempt.attempt}
          attempt={attempt}
          before={attempts[left + index - 1]}
          isOpen={index === shown.length - 1}
        />
      ))}
      {delivery.completed_at === null && (
        <li className="wait">
          <p className="strong">
            Next attempt: <DueTime at={delivery.next_attempt_at} />
          </p>
          {whyNext !== null && <p className="muted">{whyNext}</p>}
        </li>
      )}
    </ol>
  );
}

type ItemProps = { attempt: Attempt; before: Attempt | undefined; isOpen: boolean };

function AttemptItem({ attempt, before, isOpen }: ItemProps) {
  const { what, cause, action } = explain(attempt);
  const gap = before === undefined ? null : Date.parse(attempt.started_at) - endOf(before);
  return (
    <>
      {gap !== null && gap >= 1_000 && <li className="gap">{span(gap)} later</li>}
      <li className={isGood(attempt) ? 'good' : 'bad'}>
        <div className="row">
          <h3>
            Attempt {attempt.attempt}: {OUTCOME_WORD[attempt.outcome].toLowerCase()}
          </h3>
          {attempt.response_code !== null && <span className="chip">{attempt.response_code}</span>}
          <span className="muted">
            {span(attempt.duration_ms)}
            {attempt.trigger === 'manual' && ', by hand'}
          </span>
        </div>
        <p className="small">
          <FullTime at={attempt.started_at} />
        </p>
        {!isGood(attempt) && (
          <div className="stack-small">
            <p>{what}</p>
            {isOpen && cause !== '' && (
              <div className="callout bad">
                <p>{cause}</p>
                {action !== '' && <p className="strong">{action}</p>}
              </div>
            )}
          </div>
        )}
        <Answer attempt={attempt} isOpen={isOpen && !isGood(attempt)} />
      </li>
    </>
  );
}

function Answer({ attempt, isOpen }: { attempt: Attempt; isOpen: boolean }) {
  const { response_headers: headers, response_body: body } = attempt;
  if (headers === null && body === null) return null;
  return (
    <details open={isOpen && body !== null && body !== ''}>
      <summary>Response</summary>
      <div className="stack-small">
        {headers !== null && <HeaderList headers={headers} />}
        {body === null && <p className="muted">Its body is no longer kept.</p>}
        <ResponseBody attempt={attempt} label={`Body of the response to attempt ${attempt.attempt}`} />
      </div>
    </details>
  );
}

/** What was kept of it, and whether that is all of it, as it came. */
export function ResponseBody({ attempt, label }: { attempt: Attempt; label: string }) {
  const { response_body: body, response_body_encoding: encoding, response_body_truncated: isCut } = attempt;
  if (body === null) return null;
  return (
    <>
      {body === '' ? <p className="muted">Its body was empty.</p> : <JsonView text={body} label={label} />}
      {encoding === 'base64' && <p className="muted small">Not text: shown in base64.</p>}
      {isCut && <p className="tone-wait small">Cut: the rest was not kept.</p>}
    </>
  );
}

export function HeaderList({ headers }: { headers: Record<string, string[] | string> }) {
  const lines = Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value) => `${name}: ${value}`),
  );
  return (
    <pre className="code" tabIndex={0} aria-label="Headers">
      {visible(lines.join('\n'))}
    </pre>
  );
}
