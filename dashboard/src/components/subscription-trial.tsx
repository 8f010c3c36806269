// Which of the last events of its type a subscription wants, and the conditions that decide: judged by the service.
import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ApiError, type PostriderEvent, type Schemas, type Subscription } from '../api/client.ts';
import { eventsQuery, explainQuery } from '../api/queries.ts';
import { plural } from '../words/numbers.ts';
import { isMatchedBy, sayUntried } from '../words/trials.ts';
import { useMode } from './environment.ts';
import { Conditions } from './explained.tsx';
import { Badge, Fault, Time } from './show.tsx';

/** One request each. */
const EVENTS_MAX = 20;

export function SubscriptionTrial({ subscription }: { subscription: Subscription }) {
  const mode = useMode();
  const { data, error } = useQuery(eventsQuery(mode, { type: subscription.event_type }));
  const matched = data?.data.filter(({ type }) => isMatchedBy(subscription.event_type, type)) ?? [];
  const events = matched.slice(0, EVENTS_MAX);
  const explained = useQueries({ queries: events.map(({ event_id: id }) => explainQuery(mode, { event_id: id })) });
  const found = explained.map((answer) =>
    answer.data?.subscriptions.find(({ subscription_id: id }) => id === subscription.id),
  );
  if (error !== null) return <Fault error={error} />;
  if (data === undefined || explained.some(({ isPending }) => isPending)) return <p role="status">Looking…</p>;
  if (events.length === 0) return <p>There are no events that match its pattern yet.</p>;
  const wanted = found.filter((one) => one?.matches === true).length;
  return (
    <div className="stack">
      <p role="status">
        It wants <span className="strong">{wanted}</span> of the last {plural(events.length, 'event')} that match its
        pattern.
      </p>
      <ul className="stack-small">
        {events.map((event, index) => (
          <Judged key={event.event_id} event={event} found={found[index]} error={explained[index]?.error ?? null} />
        ))}
      </ul>
    </div>
  );
}

type JudgedProps = {
  event: PostriderEvent;
  found: Schemas['ExplainedSubscription'] | undefined;
  error: Error | null;
};

function Judged({ event, found, error }: JudgedProps) {
  const mode = useMode();
  return (
    <li>
      <div className="row">
        {found !== undefined && (
          <Badge tone={found.matches ? 'good' : 'idle'}>{found.matches ? 'Wanted' : 'Not wanted'}</Badge>
        )}
        {found === undefined && <Badge tone="wait">{sayUntried(error instanceof ApiError ? error.code : null)}</Badge>}
        <Link to="/$mode/events/$id" params={{ mode, id: event.event_id }}>
          {event.type}
        </Link>
        <span className="muted small">
          <Time at={event.created_at} />
        </span>
      </div>
      {found !== undefined && <Conditions conditions={found.filter} />}
    </li>
  );
}
