// Which subscriptions an event goes to, which it nearly did, and the condition that decided.
import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '../api/client.ts';
import { explainQuery } from '../api/queries.ts';
import { visible } from '../words/visible.ts';
import { useMode } from './environment.ts';
import { Card } from './page.tsx';
import { Badge, DestinationLink } from './show.tsx';

const SHOWN_MAX = 50;

type Request = { event_id: string } | { type: string; body: Record<string, unknown> };

export function ExplainCard({ request }: { request: Request }) {
  const mode = useMode();
  const { data } = useQuery(explainQuery(mode, request));
  if (data === undefined) return null;
  const shown = data.subscriptions.slice(0, SHOWN_MAX);
  return (
    <Card title="Who wants it, as the subscriptions are now">
      {shown.length === 0 ? (
        <p className="muted">No subscription’s pattern matches, nor would with one segment more or less.</p>
      ) : (
        <ul className="stack">
          {shown.map((found) => (
            <Subscription key={found.subscription_id} found={found} />
          ))}
        </ul>
      )}
    </Card>
  );
}

function Subscription({ found }: { found: Schemas['ExplainedSubscription'] }) {
  return (
    <li className="stack-small">
      <div className="row">
        <Badge tone={found.matches ? 'good' : 'idle'}>{found.matches ? 'Matches' : 'Does not match'}</Badge>
        <DestinationLink id={found.destination_id} />
      </div>
      {!found.pattern_matches && <p className="muted">Its pattern does not match the type.</p>}
      <Conditions conditions={found.filter} />
    </li>
  );
}

/** All of them: within an $or or a $not, those that hold decide too. */
export function Conditions({ conditions }: { conditions: readonly Schemas['ExplainedCondition'][] }) {
  return conditions.map(({ path, operator, expected, found, holds }, index) => (
    <p key={index} className="small">
      <code>{visible(`${path} ${operator} ${JSON.stringify(expected)}`)}</code>{' '}
      <span className={holds ? 'tone-good' : 'tone-bad'}>{holds ? 'holds' : 'does not hold'}</span>
      <span className="muted">; there is </span>
      <code>{found === null || found === undefined ? 'nothing' : visible(JSON.stringify(found))}</code>
    </p>
  ));
}
