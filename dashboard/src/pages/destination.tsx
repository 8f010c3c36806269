import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { answerOf, api, type Destination } from '../api/client.ts';
import { deliveriesQuery, destinationQuery, healthQuery } from '../api/queries.ts';
import { useLive } from '../api/stream.ts';
import { DeliveryTable } from '../components/delivery-table.tsx';
import { PauseButton } from '../components/destination-actions.tsx';
import { DestinationForm, SIGNATURE_STYLES } from '../components/destination-form.tsx';
import { ConfirmButton, Dialog } from '../components/dialog.tsx';
import { useMay, useMode } from '../components/environment.ts';
import { HealthCard } from '../components/health.tsx';
import { Card, Page } from '../components/page.tsx';
import { visible } from '../words/visible.ts';
import { DestinationBadge, Empty, Fault, FullTime, Id, nameOf } from '../components/show.tsx';
import { SigningKeys } from '../components/signing-keys.tsx';
import { Subscriptions } from '../components/subscriptions.tsx';
import { TestButton } from '../components/test-event.tsx';
import { RecoverButton } from '../components/recover.tsx';
import { policyInWords } from '../words/retry-policy.ts';
import { Charts } from './overview.tsx';

export function DestinationPage() {
  const mode = useMode();
  const { id } = useParams({ from: '/$mode/destinations/$id' });
  const { data, error, refetch } = useQuery(destinationQuery(mode, id));
  useLive(mode, ['destination'], true, () => void refetch());
  return (
    <Page
      title={data === undefined ? 'Destination' : nameOf(data)}
      crumb={
        <Link to="/$mode/destinations" params={{ mode }}>
          Destinations
        </Link>
      }
      actions={data !== undefined && <Actions destination={data} />}
    >
      <Fault error={error} retry={() => void refetch()} />
      {data !== undefined && (
        <div className="columns">
          <div className="stack">
            <PausedNote destination={data} />
            <HealthCard id={id} />
            <Charts destinationId={id} />
            <Subscriptions destinationId={id} />
            <Latest id={id} />
          </div>
          <div className="stack">
            <Facts destination={data} />
            <SigningKeys destinationId={id} />
          </div>
        </div>
      )}
    </Page>
  );
}

function PausedNote({ destination }: { destination: Destination }) {
  if (destination.status === 'active') return null;
  const why = {
    manual: 'Somebody paused it.',
    failing: 'It was paused because nothing succeeded for days. Resume it when the receiver answers again.',
    gone: 'It was paused because it answered 410: it wants no more events.',
  };
  return (
    <div className={`callout ${destination.paused_reason === 'manual' ? 'wait' : 'bad'}`}>
      <p className="strong">Paused: events wait here and spend no attempts.</p>
      <p>{why[destination.paused_reason ?? 'manual']}</p>
    </div>
  );
}

function Actions({ destination }: { destination: Destination }) {
  const may = useMay();
  return (
    <>
      {may('manage') && <TestButton id={destination.id} />}
      {may('operate') && <RecoverButton id={destination.id} />}
      {may('manage') && <Edit destination={destination} />}
      <PauseButton id={destination.id} isPaused={destination.status === 'paused'} />
      {may('manage') && <Delete destination={destination} />}
    </>
  );
}

function Edit({ destination }: { destination: Destination }) {
  const mode = useMode();
  const client = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const { id } = destination;
  return (
    <>
      <button type="button" className="button" onClick={() => setOpen(true)}>
        Edit
      </button>
      <Dialog title="Edit the destination" open={isOpen} onClose={() => setOpen(false)}>
        <DestinationForm
          destination={destination}
          submit="Save"
          onCancel={() => setOpen(false)}
          save={async (body) => {
            const request = api(mode).PATCH('/v1/destinations/{id}', { params: { path: { id } }, body });
            client.setQueryData(destinationQuery(mode, id).queryKey, await answerOf(request));
            await client.invalidateQueries({ queryKey: [mode, '/v1/destinations'] });
            setOpen(false);
          }}
        />
      </Dialog>
    </>
  );
}

function Delete({ destination }: { destination: Destination }) {
  const mode = useMode();
  const client = useQueryClient();
  const navigate = useNavigate();
  const remove = async (): Promise<void> => {
    const path = { id: destination.id };
    await answerOf(api(mode).DELETE('/v1/destinations/{id}', { params: { path } }));
    await navigate({ to: '/$mode/destinations', params: { mode } });
    await client.invalidateQueries({ queryKey: [mode, '/v1/destinations'] });
  };
  return (
    <ConfirmButton label="Delete" title={`Delete ${nameOf(destination)}`} confirm="Delete for good" danger act={remove}>
      <p>Nothing is sent to it any more: what waits for it ends dead, and its subscriptions go. It cannot be undone.</p>
    </ConfirmButton>
  );
}

function Latest({ id }: { id: string }) {
  const mode = useMode();
  const query = { destination_id: id };
  const { data, refetch } = useQuery(deliveriesQuery(mode, query));
  useLive(mode, ['delivery'], true, () => void refetch());
  if (data === undefined) return null;
  return (
    <Card
      title="Latest deliveries"
      flush
      actions={
        <Link to="/$mode/deliveries" params={{ mode }} search={query}>
          All
        </Link>
      }
    >
      {data.data.length === 0 ? (
        <Empty title="None yet">Events that its subscriptions match make deliveries here.</Empty>
      ) : (
        <DeliveryTable label="Latest deliveries" deliveries={data.data.slice(0, 10)} hideDestination />
      )}
    </Card>
  );
}

function Facts({ destination }: { destination: Destination }) {
  const { data: health } = useQuery(healthQuery(useMode(), destination.id));
  const { retry_policy: policy, headers, metadata } = destination;
  return (
    <Card title="About">
      <dl className="facts">
        <dt>Status</dt>
        <dd>
          <DestinationBadge destination={destination} state={health?.state} />
        </dd>
        <dt>URL</dt>
        <dd className="mono">{destination.url}</dd>
        <dt>Destination</dt>
        <dd>
          <Id id={destination.id} />
        </dd>
        <dt>Limits</dt>
        <dd>
          {destination.max_in_flight} at once,{' '}
          {destination.rate_per_second == null ? 'no limit a second' : `${destination.rate_per_second} a second`}
        </dd>
        <dt>Retries</dt>
        <dd>{policyInWords(policy)}</dd>
        <dt>Signature</dt>
        <dd>{SIGNATURE_STYLES[destination.signature_style]}</dd>
        {Object.keys(headers ?? {}).length > 0 && (
          <>
            <dt>Headers</dt>
            <dd className="mono">{Object.keys(headers ?? {}).join(', ')}</dd>
          </>
        )}
        {Object.keys(metadata ?? {}).length > 0 && (
          <>
            <dt>Metadata</dt>
            <dd className="mono">{visible(JSON.stringify(metadata))}</dd>
          </>
        )}
        <dt>Added</dt>
        <dd>
          <FullTime at={destination.created_at} />
        </dd>
      </dl>
    </Card>
  );
}
