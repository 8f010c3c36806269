import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import type { RefObject } from 'react';
import { answerOf, api } from '../api/client.ts';
import type { Destination } from '../api/client.ts';
import { destinationsQuery, healthQuery, rememberDestinations } from '../api/queries.ts';
import { useLive } from '../api/stream.ts';
import { DestinationForm } from '../components/destination-form.tsx';
import { Dialog } from '../components/dialog.tsx';
import { useMay, useMode } from '../components/environment.ts';
import { Filters, requestOf, SelectFilter } from '../components/filters.tsx';
import { HealthStrip } from '../components/health-strip.tsx';
import { Page } from '../components/page.tsx';
import { ListFault, Pager } from '../components/pager.tsx';
import { Secret } from '../components/secret.tsx';
import { DestinationBadge, Empty, hostOf, nameOf } from '../components/show.tsx';
import type { Search } from '../router.tsx';
import { count } from '../words/numbers.ts';
import { sentence } from '../words/sentence.ts';

const STATES = [
  { value: 'healthy', label: 'Healthy' },
  { value: 'failing', label: 'Failing' },
  { value: 'paused', label: 'Paused' },
  { value: 'idle', label: 'Idle' },
];
const SELDOM = { refetchInterval: 30_000, staleTime: 30_000 };

export function Destinations() {
  const mode = useMode();
  const may = useMay();
  const client = useQueryClient();
  const search: Search = useSearch({ strict: false });
  const query = requestOf(search, ['state']);
  const { data, error, isPlaceholderData, refetch } = useQuery(destinationsQuery(mode, query));
  useEffect(() => rememberDestinations(client, mode, data?.data ?? []), [client, mode, data]);
  useLive(mode, ['destination'], search['cursor'] === undefined, () => void refetch());
  const creating = may('manage') && <CreateDestination />;
  return (
    <Page title="Destinations" actions={creating}>
      <Filters>
        <SelectFilter name="state" label="State" any="Any state" choices={STATES} />
      </Filters>
      <ListFault error={error} retry={() => void refetch()} />
      {data !== undefined && (
        <section className="card">
          {data.data.length === 0 ? (
            <NoDestinations isFiltered={Object.keys(query).length > 0} />
          ) : (
            <DestinationTable destinations={data.data} isBusy={isPlaceholderData} />
          )}
          <Pager page={data} query={query} />
        </section>
      )}
    </Page>
  );
}

function NoDestinations({ isFiltered }: { isFiltered: boolean }) {
  return isFiltered ? (
    <Empty title="None match">There are destinations in another state, or none at all.</Empty>
  ) : (
    <Empty title="No destinations yet">
      A destination is a URL that gets events. Its subscriptions say which ones.
    </Empty>
  );
}

function DestinationTable({ destinations, isBusy }: { destinations: readonly Destination[]; isBusy: boolean }) {
  return (
    <div className="table-wrap">
      <table className="cards" aria-label="Destinations">
        <thead>
          <tr>
            <th>Destination</th>
            <th>State</th>
            <th>Last 60 minutes</th>
            <th className="number">Unfinished</th>
            <th className="number">In flight</th>
          </tr>
        </thead>
        <tbody aria-busy={isBusy}>
          {destinations.map((destination) => (
            <Row key={destination.id} destination={destination} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ destination }: { destination: Destination }) {
  const mode = useMode();
  const [isSeen, row] = useSeen();
  const { data: health } = useQuery({ ...healthQuery(mode, destination.id), ...SELDOM, enabled: isSeen });
  return (
    <tr ref={row}>
      <td className="lead">
        <Link
          className="cut strong"
          to="/$mode/destinations/$id"
          params={{ mode, id: destination.id }}
          title={`${nameOf(destination)}\n${destination.url}`}
        >
          {nameOf(destination)}
        </Link>
        <span className="cut muted small">{destination.name?.trim() ? hostOf(destination.url) : destination.url}</span>
        {health?.state === 'failing' && <div className="tone-bad small">{sentence(health.summary)}</div>}
      </td>
      <td className="end">
        <DestinationBadge destination={destination} state={health?.state} />
      </td>
      <td className="whole">
        <HealthStrip id={destination.id} isSeen={isSeen} />
      </td>
      <td className="number wide-only">
        {health === undefined ? <span className="muted">–</span> : count(health.unfinished)}
      </td>
      <td className="number wide-only">
        {health === undefined ? 'limit ' : `${health.in_flight} of `}
        {destination.max_in_flight}
      </td>
    </tr>
  );
}

/** Whether it is in view: of fifty rows, those that nobody looks at ask for nothing. */
function useSeen(): [boolean, RefObject<HTMLTableRowElement | null>] {
  const row = useRef<HTMLTableRowElement>(null);
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    const watch = new IntersectionObserver(([entry]) => setSeen(entry?.isIntersecting ?? false));
    watch.observe(row.current!);
    return () => watch.disconnect();
  }, []);
  return [isSeen, row];
}

function CreateDestination() {
  const mode = useMode();
  const [isOpen, setOpen] = useState(false);
  const [made, setMade] = useState<{ id: string; secret: string } | null>(null);
  const client = useQueryClient();
  const navigate = useNavigate();
  const show = (id: string): void => void navigate({ to: '/$mode/destinations/$id', params: { mode, id } });
  const done = (): void => {
    setOpen(false);
    if (made !== null) show(made.id);
  };
  return (
    <>
      <button type="button" className="button primary" onClick={() => setOpen(true)}>
        Add a destination
      </button>
      <Dialog
        title={made === null ? 'Add a destination' : 'Its signing secret'}
        open={isOpen || made !== null}
        onClose={made === null ? done : null}
      >
        {made === null ? (
          <DestinationForm
            submit="Add"
            onCancel={done}
            save={async (values, broughtSecret) => {
              const body = { ...values, signing_secret: broughtSecret };
              const { id, signing_secret: secret } = await answerOf(api(mode).POST('/v1/destinations', { body }));
              if (broughtSecret === null) setMade({ id, secret });
              else show(id);
              await client.invalidateQueries({ queryKey: [mode, '/v1/destinations'] });
            }}
          />
        ) : (
          <Secret secret={made.secret} onDone={done} />
        )}
      </Dialog>
    </>
  );
}
