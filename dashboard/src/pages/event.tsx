import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { answerOf, api, type Mode } from '../api/client.ts';
import { deliveriesQuery, destinationQuery, eventQuery, type EventWithBody } from '../api/queries.ts';
import { useLive } from '../api/stream.ts';
import { AllOfEvent, DeliveryTable } from '../components/delivery-table.tsx';
import { ConfirmButton } from '../components/dialog.tsx';
import { useMay, useMode } from '../components/environment.ts';
import { ExplainCard } from '../components/explained.tsx';
import { JsonView } from '../components/json-view.tsx';
import { useNotice } from '../components/notices.tsx';
import { Card, Page } from '../components/page.tsx';
import { Pager } from '../components/pager.tsx';
import { Empty, Fault, FullTime, Id, nameOf } from '../components/show.tsx';
import { shortId } from '../words/ids.ts';
import { plural } from '../words/numbers.ts';

export function EventPage() {
  const mode = useMode();
  const may = useMay();
  const { id } = useParams({ from: '/$mode/events/$id' });
  const { data: event, error, refetch } = useQuery(eventQuery(mode, id));
  return (
    <Page
      title="Event"
      heading={event?.type ?? 'Event'}
      crumb={
        <Link to="/$mode/events" params={{ mode }}>
          Events
        </Link>
      }
      actions={event !== undefined && <Actions event={event} canReplay={may('operate')} canSend={may('publish')} />}
    >
      <Fault error={error} retry={() => void refetch()} />
      {event !== undefined && (
        <div className="columns">
          <div className="stack">
            <FanOut mode={mode} event={event} />
            <Card title="Body">
              {event.body === null ? (
                <p className="muted">It has been erased: the event is older than the service keeps bodies.</p>
              ) : (
                <JsonView text={event.body} label="Body of the event" />
              )}
            </Card>
            {event.body !== null && <ExplainCard request={{ event_id: id }} />}
          </div>
          <Card title="About">
            <dl className="facts">
              <dt>Event</dt>
              <dd>
                <Id id={id} />
              </dd>
              <dt>Occurred</dt>
              <dd>
                <FullTime at={event.occurred_at} />
              </dd>
              <dt>Accepted</dt>
              <dd>
                <FullTime at={event.created_at} />
              </dd>
              <dt>Idempotency key</dt>
              <dd className="mono">{event.idempotency_key ?? '–'}</dd>
            </dl>
          </Card>
        </div>
      )}
    </Page>
  );
}

function FanOut({ mode, event }: { mode: Mode; event: EventWithBody }) {
  const query = { event_id: event.event_id };
  const { data, refetch } = useQuery(deliveriesQuery(mode, query));
  const isMoving = data?.data.some(({ completed_at: at }) => at === null) ?? false;
  useLive(mode, ['delivery'], isMoving, () => void refetch());
  if (data === undefined) return null;
  if (data.data.length === 0) {
    return (
      <Card title="Deliveries" flush>
        <Empty title="It went nowhere">No subscription matched it when it was accepted.</Empty>
      </Card>
    );
  }
  return (
    <Card title="Deliveries" flush>
      <DeliveryTable label="Deliveries of this event" deliveries={data.data} hideScheduled />
      <Pager page={{ ...data, has_more: false }} query={query} />
      {data.has_more && <AllOfEvent id={event.event_id} />}
    </Card>
  );
}

function Actions({ event, canReplay, canSend }: { event: EventWithBody; canReplay: boolean; canSend: boolean }) {
  const mode = useMode();
  const client = useQueryClient();
  const notice = useNotice();
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const destinations = [...new Set(event.deliveries.map(({ destination_id: id }) => id))];
  const toggle = (id: string): void =>
    setChosen(chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id]);
  const replay = async (): Promise<void> => {
    const request = api(mode).POST('/v1/events/{id}/replay', {
      params: { path: { id: event.event_id } },
      body: chosen.length === 0 ? {} : { destination_ids: [...chosen] },
    });
    const { data } = await answerOf(request);
    notice(`${plural(data.length, 'new delivery', 'new deliveries')} scheduled.`);
    await client.invalidateQueries({ queryKey: [mode, '/v1/deliveries'] });
  };
  return (
    <>
      {canSend && event.body !== null && (
        <Link className="button" to="/$mode/send" params={{ mode }} search={{ from: event.event_id }}>
          Send one like it
        </Link>
      )}
      {canReplay && event.body !== null && (
        <ConfirmButton label="Replay" title="Replay this event" confirm="Replay" act={replay}>
          <div className="stack-small">
            <p>
              New deliveries are made, by the subscriptions as they are now. Receivers see the same webhook-id again.
            </p>
            {destinations.length > 1 && <p className="muted">Choose none to replay to all that match.</p>}
            {destinations.length > 1 &&
              destinations.map((id) => (
                <label key={id} className="choice">
                  <input type="checkbox" checked={chosen.includes(id)} onChange={() => toggle(id)} />
                  <DestinationName id={id} />
                </label>
              ))}
          </div>
        </ConfirmButton>
      )}
    </>
  );
}

/** No link: a press on it ticks the box that it is the label of. */
function DestinationName({ id }: { id: string }) {
  const { data } = useQuery(destinationQuery(useMode(), id));
  return <span title={data?.url ?? id}>{data === undefined ? shortId(id) : nameOf(data)}</span>;
}
