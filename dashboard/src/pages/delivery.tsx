import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { answerOf, api, ApiError, type Delivery, type DeliveryWithRetries, type Destination } from '../api/client.ts';
import { deliveriesQuery, deliveryQuery, destinationQuery, eventQuery, healthQuery } from '../api/queries.ts';
import { useLive } from '../api/stream.ts';
import { AttemptScale, AttemptTimeline } from '../components/attempts.tsx';
import { AllOfEvent, DeliveryTable } from '../components/delivery-table.tsx';
import { useMay, useMode } from '../components/environment.ts';
import { JsonView } from '../components/json-view.tsx';
import { useNotice, useRefusal } from '../components/notices.tsx';
import { useOnce } from '../components/once.ts';
import { Card, Page } from '../components/page.tsx';
import { CopyButton, DestinationLink, Fault, FullTime, Id, StatusBadge } from '../components/show.tsx';
import { usePreferences } from '../preferences.ts';
import { curlOf } from '../words/curl.ts';
import { count, plural } from '../words/numbers.ts';
import { DEAD_REASON } from '../words/outcomes.ts';
import { absolute } from '../words/time.ts';

export function DeliveryPage() {
  const mode = useMode();
  const { id } = useParams({ from: '/$mode/deliveries/$id' });
  const { data, error, refetch } = useQuery(deliveryQuery(mode, id));
  useLive(mode, ['delivery'], data?.completed_at === null, () => void refetch());
  const { data: destination, error: missing } = useQuery({
    ...destinationQuery(mode, data?.destination_id ?? ''),
    enabled: data !== undefined,
  });
  const { data: health } = useQuery({
    ...healthQuery(mode, data?.destination_id ?? ''),
    enabled: data?.completed_at === null,
  });
  const isDeleted = missing instanceof ApiError && missing.status === 404;
  return (
    <Page
      title="Delivery"
      heading={data?.event_type ?? 'Delivery'}
      crumb={
        <Link to="/$mode/deliveries" params={{ mode }}>
          Deliveries
        </Link>
      }
      actions={data !== undefined && <Actions delivery={data} isDeleted={isDeleted} />}
    >
      <Fault error={error} retry={() => void refetch()} />
      {data !== undefined && (
        <div className="columns">
          <div className="stack">
            <Verdict delivery={data} destination={destination} />
            <Card title="Attempts">
              <div className="stack">
                <AttemptScale delivery={data} />
                <AttemptTimeline delivery={data} whyNext={whyNextOf(data, destination, health?.held_until ?? null)} />
              </div>
            </Card>
            <Request delivery={data} destination={destination} />
            <Siblings delivery={data} />
          </div>
          <Facts delivery={data} destination={destination} />
        </div>
      )}
    </Page>
  );
}

function Verdict({ delivery, destination }: { delivery: Delivery; destination: Destination | undefined }) {
  const { status, dead_reason: reason } = delivery;
  if (status === 'dead' && reason !== null) {
    return (
      <div className="callout bad">
        <p className="strong">{DEAD_REASON[reason].cause}</p>
        <p>{DEAD_REASON[reason].action}</p>
      </div>
    );
  }
  if (destination?.status === 'paused' && delivery.completed_at === null) {
    return (
      <div className="callout wait">
        <p className="strong">The destination is paused, so this delivery waits.</p>
        <p>It goes out when the destination is resumed. “Retry now” sends it once in spite of that.</p>
      </div>
    );
  }
  return null;
}

function whyNextOf(
  delivery: DeliveryWithRetries,
  destination: Destination | undefined,
  heldUntil: string | null,
): ReactNode {
  if (delivery.completed_at !== null) return null;
  if (destination?.status === 'paused') return 'The destination is paused.';
  const last = delivery.retries.at(-1);
  if ((last?.response_code === 429 || last?.response_code === 503) && last.response_headers?.['retry-after']) {
    return `The receiver asked to be left alone: Retry-After: ${last.response_headers['retry-after'].join()}.`;
  }
  // One that is forced goes out before, and one that is due later waits for its schedule.
  if (heldUntil !== null && delivery.next_attempt_at === heldUntil) return <Held until={heldUntil} />;
  if (last === undefined) return 'It is in its destination’s queue.';
  const policy = destination?.retry_policy === null ? 'default schedule' : 'destination’s retry policy';
  return `By the ${policy}, after ${plural(delivery.attempt_count, 'attempt')}.`;
}

function Held({ until }: { until: string }) {
  const { isUtc } = usePreferences();
  return `The receiver asked, by a Retry-After, to be left alone until ${absolute(Date.parse(until), isUtc)}.`;
}

function Actions({ delivery, isDeleted }: { delivery: DeliveryWithRetries; isDeleted: boolean }) {
  const mode = useMode();
  const may = useMay();
  const notice = useNotice();
  const refuse = useRefusal();
  const client = useQueryClient();
  const { data: event } = useQuery(eventQuery(mode, delivery.event_id));
  const send = async (isReplay: boolean): Promise<void> => {
    const { id } = delivery;
    try {
      await (isReplay
        ? answerOf(api(mode).POST('/v1/dlq/{delivery_id}/replay', { params: { path: { delivery_id: id } } }))
        : answerOf(api(mode).POST('/v1/deliveries/{id}/retry', { params: { path: { id } } })));
      notice(isReplay ? 'Replayed: its schedule starts afresh.' : 'One attempt goes out now.');
    } catch (error) {
      refuse(error);
    }
    await client.invalidateQueries({ queryKey: deliveryQuery(mode, id).queryKey });
  };
  const retry = useOnce(() => send(false));
  const replay = useOnce(() => send(true));
  if (!may('operate') || isDeleted || event?.body === null) return null;
  return (
    <>
      <button type="button" className="button" aria-disabled={retry.isBusy} onClick={retry.run}>
        Retry now
      </button>
      {delivery.status === 'dead' && (
        <button type="button" className="button primary" aria-disabled={replay.isBusy} onClick={replay.run}>
          Replay with all its retries
        </button>
      )}
    </>
  );
}

function Request({ delivery, destination }: { delivery: Delivery; destination: Destination | undefined }) {
  const mode = useMode();
  const { data: event } = useQuery(eventQuery(mode, delivery.event_id));
  if (event === undefined) return null;
  if (event.body === null) {
    return (
      <Card title="Request">
        <p className="muted">The event’s body has been erased: it is older than the service keeps bodies.</p>
      </Card>
    );
  }
  const { event_id: id, type, occurred_at: timestamp, body } = event;
  const text = `${JSON.stringify({ id, type, timestamp }).slice(0, -1)},"data":${body}}`;
  const curl = curlOf(destination?.url ?? 'https://…', text, delivery);
  return (
    <Card title="Request" actions={<CopyButton text={curl} label="Copy as curl" />}>
      <div className="stack-small">
        <pre className="code" tabIndex={0} aria-label="Request line and headers">
          {[
            `POST ${destination?.url ?? ''}`,
            'content-type: application/json',
            `webhook-id: ${id}`,
            'webhook-timestamp, webhook-signature: made anew for each attempt',
            `postrider-delivery-id: ${delivery.id}`,
            ...Object.entries(destination?.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
          ].join('\n')}
        </pre>
        <JsonView text={text} label="Body of the request" />
      </div>
    </Card>
  );
}

function Siblings({ delivery }: { delivery: Delivery }) {
  const mode = useMode();
  const { data } = useQuery(deliveriesQuery(mode, { event_id: delivery.event_id }));
  const others = data?.data.filter(({ id }) => id !== delivery.id) ?? [];
  if (others.length === 0) return null;
  return (
    <Card title="Other deliveries of this event" flush>
      <DeliveryTable label="Other deliveries of this event" deliveries={others} hideScheduled />
      {data?.has_more && <AllOfEvent id={delivery.event_id} />}
    </Card>
  );
}

function Facts({ delivery, destination }: { delivery: Delivery; destination: Destination | undefined }) {
  const mode = useMode();
  return (
    <Card title="About">
      <dl className="facts">
        <dt>Status</dt>
        <dd>
          <StatusBadge status={delivery.status} />
        </dd>
        <dt>Destination</dt>
        <dd>
          <DestinationLink id={delivery.destination_id} />
          <span className="muted small">{destination?.url}</span>
        </dd>
        <dt>Event</dt>
        <dd>
          <Link className="mono" to="/$mode/events/$id" params={{ mode, id: delivery.event_id }}>
            {delivery.event_id}
          </Link>
        </dd>
        <dt>Delivery</dt>
        <dd>
          <Id id={delivery.id} />
        </dd>
        <dt>Scheduled</dt>
        <dd>
          <FullTime at={delivery.created_at} />
        </dd>
        <dt>Ended</dt>
        <dd>
          <FullTime at={delivery.completed_at} none="not yet" />
        </dd>
        <dt>Attempts</dt>
        <dd>{count(delivery.attempt_count)}</dd>
      </dl>
    </Card>
  );
}
