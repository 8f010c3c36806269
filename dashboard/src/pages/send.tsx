// A form for one event. Its draft is the event that the address names, or the last one of the type.
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { answerOf, api, ApiError, type Schemas } from '../api/client.ts';
import { eventQuery, eventsQuery, type EventWithBody } from '../api/queries.ts';
import { useMay, useMode } from '../components/environment.ts';
import { Field, TextField } from '../components/field.tsx';
import { useOnce } from '../components/once.ts';
import { Card, Page } from '../components/page.tsx';
import { DestinationLink, Fault, StatusBadge } from '../components/show.tsx';
import type { Search } from '../router.tsx';
import { layOut } from '../words/exact-json.ts';
import { plural } from '../words/numbers.ts';

const EXAMPLE = '{\n  "order_id": "A-1001",\n  "total": 129.9,\n  "currency": "EUR"\n}';

export function Send() {
  const mode = useMode();
  const [type, setType] = useState('');
  const [body, setBody] = useState('');
  const [idempotencyKey, setIdempotencyKey] = useState('');
  const [sent, setSent] = useState<Schemas['AcceptedEvent'] | null>(null);
  const draft = useDraft((event) => {
    // What was written while it was on its way stays.
    if (type !== '' || body !== '') return;
    setType(event.type);
    setBody(layOut(event.body ?? '{}'));
  });
  const { run, isBusy, error } = useOnce(async () => {
    setSent(null);
    setSent(await publish(mode, { type: type.trim(), body: body || EXAMPLE, idempotencyKey }));
  });
  const param = error instanceof ApiError ? error.param : null;
  const bodyFault = jsonFault(body);
  return (
    <Page title="Send an event">
      <div className="columns">
        <Card>
          <form className="stack" onSubmit={run}>
            <Fault error={draft.error} retry={() => void draft.refetch()} />
            {draft.isLoading && <p role="status">Loading…</p>}
            <Field
              label="Type"
              required
              placeholder="order.paid"
              value={type}
              fault={param === '/type' && error instanceof Error ? error.message : null}
              hint={<LastOfType type={type} onTake={setBody} />}
              onChange={({ target }) => setType(target.value)}
            />
            <TextField
              label="Body"
              rows={14}
              placeholder={EXAMPLE}
              value={body}
              fault={bodyFault}
              hint="A JSON object. It is delivered as it is written here."
              onChange={({ target }) => setBody(target.value)}
            />
            <Field
              label="Idempotency key (optional)"
              value={idempotencyKey}
              hint="Sending the same again within 24 hours then makes nothing new."
              onChange={({ target }) => setIdempotencyKey(target.value)}
            />
            {param !== '/type' && <Fault error={error} />}
            <div className="actions">
              <button
                type="submit"
                className="button primary"
                disabled={type.trim() === '' || bodyFault !== null}
                aria-disabled={isBusy}
              >
                Send to {mode}
              </button>
            </div>
          </form>
        </Card>
        {sent !== null && <Sent event={sent} />}
      </div>
    </Page>
  );
}

/** The body goes as it was typed: parsing it here would round its numbers. */
async function publish(
  mode: 'live' | 'test',
  { type, body, idempotencyKey }: { type: string; body: string; idempotencyKey: string },
): Promise<Schemas['AcceptedEvent']> {
  const rest = { type, ...(idempotencyKey !== '' && { idempotency_key: idempotencyKey }) };
  const text = `${JSON.stringify(rest).slice(0, -1)},"body":${body}}`;
  const request = api(mode).POST('/v1/events', {
    body: text as never,
    bodySerializer: (given: unknown) => String(given),
  });
  return answerOf(request as Promise<{ data?: Schemas['AcceptedEvent']; error?: unknown; response: Response }>);
}

function jsonFault(text: string): string | null {
  if (text.trim() === '') return null;
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? null : 'The body must be a JSON object.';
  } catch (error) {
    return error instanceof Error ? error.message : 'This is not JSON.';
  }
}

/** Where the address names an event. */
function useDraft(take: (event: EventWithBody) => void): UseQueryResult<EventWithBody> {
  const mode = useMode();
  const search: Search = useSearch({ strict: false });
  const from = search['from'];
  const draft = useQuery({ ...eventQuery(mode, from ?? ''), enabled: from !== undefined });
  useEffect(() => {
    if (draft.data !== undefined) take(draft.data);
    // Once for each event: what is typed afterwards stays.
  }, [draft.data?.event_id]);
  return draft;
}

function LastOfType({ type, onTake }: { type: string; onTake: (body: string) => void }) {
  const mode = useMode();
  const wanted = type.trim();
  const may = useMay();
  const isType = may('read') && /^[\w-]+(\.[\w-]+)+$/.test(wanted);
  const { data } = useQuery({ ...eventsQuery(mode, { type: wanted }), enabled: isType, retry: false });
  const last = isType ? data?.data.find((event) => event.type === wanted) : undefined;
  const { data: event } = useQuery({ ...eventQuery(mode, last?.event_id ?? ''), enabled: last !== undefined });
  if (event?.body == null) return '2 to 10 segments joined by dots.';
  const { body } = event;
  return (
    <button type="button" className="link" onClick={() => onTake(layOut(body))}>
      Take the body of the last {wanted}
    </button>
  );
}

function Sent({ event }: { event: Schemas['AcceptedEvent'] }) {
  const mode = useMode();
  return (
    <Card title="Accepted">
      <div className="stack" role="status">
        <p>
          <Link to="/$mode/events/$id" params={{ mode, id: event.event_id }} className="mono">
            {event.event_id}
          </Link>
        </p>
        <p>
          {event.deliveries.length === 0
            ? 'No subscription matches it: it is kept and goes nowhere.'
            : `${plural(event.deliveries.length, 'delivery', 'deliveries')}:`}
        </p>
        <ul className="stack-small">
          {event.deliveries.slice(0, 20).map(({ id, destination_id: destinationId, status }) => (
            <li key={id} className="row">
              <StatusBadge status={status} />
              <Link to="/$mode/deliveries/$id" params={{ mode, id }}>
                Delivery
              </Link>
              to <DestinationLink id={destinationId} />
            </li>
          ))}
        </ul>
      </div>
    </Card>
  );
}
