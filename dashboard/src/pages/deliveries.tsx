import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { answerOf, api } from '../api/client.ts';
import { deliveriesQuery } from '../api/queries.ts';
import { useLive } from '../api/stream.ts';
import { DeliveryTable } from '../components/delivery-table.tsx';
import { useMay, useMode } from '../components/environment.ts';
import {
  DestinationFilter,
  Filters,
  PeriodFilter,
  requestOf,
  SelectFilter,
  TextFilter,
  useFilters,
} from '../components/filters.tsx';
import { Page } from '../components/page.tsx';
import { ListFault, Pager } from '../components/pager.tsx';
import { BulkBar, useSelection } from '../components/select-many.tsx';
import { Empty } from '../components/show.tsx';
import type { Search } from '../router.tsx';

const STATUSES = [
  { value: 'pending', label: 'Pending' },
  { value: 'retrying', label: 'Retrying' },
  { value: 'succeeded', label: 'Succeeded' },
  { value: 'dead', label: 'Dead' },
];

export function Deliveries() {
  const mode = useMode();
  const may = useMay();
  const search: Search = useSearch({ strict: false });
  const query = requestOf(search, ['status', 'destination_id', 'event_id']);
  const { data, error, isFetching, isPlaceholderData, refetch } = useQuery(deliveriesQuery(mode, query));
  const isLive = search['live'] !== 'off' && search['cursor'] === undefined;
  useLive(mode, ['delivery'], isLive, () => void refetch());
  const selection = useSelection(data?.data);
  const retry = (id: string): Promise<unknown> =>
    answerOf(api(mode).POST('/v1/deliveries/{id}/retry', { params: { path: { id } } }));
  return (
    <Page title="Deliveries" actions={<LiveSwitch isLive={isLive} />}>
      <Filters>
        <SelectFilter name="status" label="Status" any="Any status" choices={STATUSES} />
        <DestinationFilter />
        <PeriodFilter />
        <TextFilter name="event_id" label="Event" placeholder="evt_…" />
      </Filters>
      <ListFault error={error} retry={() => void refetch()} />
      {data !== undefined && (
        <section className="card">
          {data.data.length === 0 ? (
            <NoDeliveries isFiltered={Object.keys(query).length > 0} />
          ) : (
            <DeliveryTable
              label="Deliveries"
              deliveries={data.data}
              isBusy={isFetching && isPlaceholderData}
              selection={may('operate') ? selection : undefined}
            />
          )}
          <Pager page={data} query={query} />
        </section>
      )}
      <BulkBar {...selection} verb="Retry now" act={retry} onDone={() => void refetch()} />
    </Page>
  );
}

function LiveSwitch({ isLive }: { isLive: boolean }) {
  const [, change] = useFilters();
  return (
    <button
      type="button"
      className="button"
      aria-pressed={isLive}
      onClick={() => change({ live: isLive ? 'off' : undefined })}
    >
      {isLive ? 'Live' : 'Live: off'}
    </button>
  );
}

function NoDeliveries({ isFiltered }: { isFiltered: boolean }) {
  const mode = useMode();
  if (isFiltered) {
    return (
      <Empty
        title="None match"
        action={
          <Link className="button" to="/$mode/deliveries" params={{ mode }}>
            Clear the filters
          </Link>
        }
      >
        There may be deliveries of another status, destination or time.
      </Empty>
    );
  }
  return (
    <Empty
      title="No deliveries yet"
      action={
        <Link className="button" to="/$mode/send" params={{ mode }}>
          Send an event
        </Link>
      }
    >
      An event makes one for each subscription that matches it.
    </Empty>
  );
}
