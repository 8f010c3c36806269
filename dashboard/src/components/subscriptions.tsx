// Which events a destination gets.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, api, ApiError, type Mode, type Subscription } from '../api/client.ts';
import { eventQuery, eventsQuery, subscriptionsQuery } from '../api/queries.ts';
import { ConfirmButton, Dialog } from './dialog.tsx';
import { useMay, useMode } from './environment.ts';
import { Field, TextField } from './field.tsx';
import { Card } from './page.tsx';
import { JsonView } from './json-view.tsx';
import { useOnce } from './once.ts';
import { Empty, Fault, Time } from './show.tsx';
import { useSettled } from './settled.ts';
import { SubscriptionTrial } from './subscription-trial.tsx';
import { visible } from '../words/visible.ts';

export function Subscriptions({ destinationId }: { destinationId: string }) {
  const mode = useMode();
  const may = useMay();
  const { data, error, refetch } = useQuery(subscriptionsQuery(mode, { destination_id: destinationId }));
  return (
    <Card title="Subscriptions" flush actions={may('manage') && <Add destinationId={destinationId} />}>
      <Fault error={error} retry={() => void refetch()} />
      {data?.data.length === 0 && (
        <Empty title="It gets nothing">Without a subscription no event goes to this destination.</Empty>
      )}
      {data !== undefined && data.data.length > 0 && (
        <div className="table-wrap">
          <table className="cards" aria-label="Subscriptions">
            <thead>
              <tr>
                <th>Event type</th>
                <th>Filter</th>
                <th>Added</th>
                <th className="fit">
                  <span className="unseen">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {data.data.map((subscription) => (
                <Row key={subscription.id} subscription={subscription} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {data?.has_more && <p className="pager muted">Only the newest {data.data.length} are shown.</p>}
    </Card>
  );
}

function Row({ subscription }: { subscription: Subscription }) {
  const mode = useMode();
  const may = useMay();
  const client = useQueryClient();
  const { id, event_type: type, filter } = subscription;
  const about = filter === null ? type : `${type} ${visible(JSON.stringify(filter))}`;
  const remove = async (): Promise<void> => {
    await answerOf(api(mode).DELETE('/v1/subscriptions/{id}', { params: { path: { id } } }));
    await client.invalidateQueries({ queryKey: [mode, '/v1/subscriptions'] });
  };
  return (
    <tr>
      <td className="lead">
        <span className="chip">{type}</span>
      </td>
      <td className="whole">
        {filter === null ? (
          <span className="muted">every such event</span>
        ) : (
          <code>{visible(JSON.stringify(filter))}</code>
        )}
      </td>
      <td className="wide-only">
        <Time at={subscription.created_at} />
      </td>
      <td className="fit last end">
        <div className="row">
          {filter !== null && <Try subscription={subscription} about={about} />}
          {may('manage') && (
            <ConfirmButton
              label="Remove"
              of={about}
              title="Remove the subscription"
              confirm="Remove"
              danger
              className="button slim"
              act={remove}
            >
              <p>
                Later events of <code>{type}</code> no longer go here through it. What is scheduled still goes out.
              </p>
            </ConfirmButton>
          )}
        </div>
      </td>
    </tr>
  );
}

function Try({ subscription, about }: { subscription: Subscription; about: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="button slim" aria-label={`Try ${about}`} onClick={() => setOpen(true)}>
        Try
      </button>
      <Dialog title="The filter, tried on the last events" open={isOpen} onClose={() => setOpen(false)} wide>
        <SubscriptionTrial subscription={subscription} />
        <div className="actions">
          <button type="button" className="button primary" onClick={() => setOpen(false)}>
            Done
          </button>
        </div>
      </Dialog>
    </>
  );
}

function Add({ destinationId }: { destinationId: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="button slim" onClick={() => setOpen(true)}>
        Add
      </button>
      <Dialog title="Add a subscription" open={isOpen} onClose={() => setOpen(false)}>
        <AddForm destinationId={destinationId} onDone={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function AddForm({ destinationId, onDone }: { destinationId: string; onDone: () => void }) {
  const mode = useMode();
  const client = useQueryClient();
  const [type, setType] = useState('');
  const [filter, setFilter] = useState('');
  const { run, isBusy, error } = useOnce(async () => {
    await add(mode, { destination_id: destinationId, event_type: type.trim() }, filter.trim() || 'null');
    await client.invalidateQueries({ queryKey: [mode, '/v1/subscriptions'] });
    onDone();
  });
  const typed = useSettled(type.trim());
  const written = useSettled(filter.trim());
  const message = error instanceof Error ? error.message : null;
  const isFilter = error instanceof SyntaxError || (error instanceof ApiError && error.param?.startsWith('/filter'));
  const isType = error instanceof ApiError && error.param === '/event_type';
  return (
    <form className="stack" onSubmit={run}>
      <Field
        label="Event type or pattern"
        required
        placeholder="order.paid"
        hint="order.* is one more segment, order.** one or more, ** every event."
        fault={isType ? message : null}
        value={type}
        onChange={({ target }) => setType(target.value)}
      />
      <TextField
        label="Filter (optional)"
        rows={5}
        placeholder={'{ "$.currency": "EUR", "$.total": { "$gte": 100 } }'}
        hint="Conditions on the body, as JSON, all of which must hold."
        fault={isFilter ? message : jsonFault(written)}
        value={filter}
        onChange={({ target }) => setFilter(target.value)}
      />
      {!isFilter && !isType && <Fault error={error} />}
      <LastEvent type={typed} />
      <div className="actions">
        <button type="button" className="button quiet" onClick={onDone}>
          Cancel
        </button>
        <button type="submit" className="button primary" aria-disabled={isBusy}>
          Add
        </button>
      </div>
    </form>
  );
}

/** The filter goes as it was written: parsing it here would round its numbers. */
async function add(mode: Mode, rest: { destination_id: string; event_type: string }, filter: string): Promise<void> {
  JSON.parse(filter);
  const bodySerializer = (given: object): string => `${JSON.stringify(given).slice(0, -1)},"filter":${filter}}`;
  await answerOf(api(mode).POST('/v1/subscriptions', { body: rest, bodySerializer }));
}

function jsonFault(text: string): string | null {
  if (text === '') return null;
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** What a filter is written for. */
function LastEvent({ type }: { type: string }) {
  const mode = useMode();
  const { data: page, isError } = useQuery({ ...eventsQuery(mode, { type }), enabled: type !== '' });
  const last = isError || type === '' ? undefined : page?.data[0];
  const { data: event } = useQuery({ ...eventQuery(mode, last?.event_id ?? ''), enabled: last !== undefined });
  if (type === '' || isError || page === undefined) return null;
  if (last === undefined) return <p className="muted">No event that matches this has come yet.</p>;
  if (event === undefined || event.body === null) return null;
  return (
    <details open>
      <summary>
        Body of the last <code>{last.type}</code>, <Time at={last.created_at} />
      </summary>
      <JsonView text={event.body} label="Body of the last event" />
    </details>
  );
}
