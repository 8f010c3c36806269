import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { answerOf, api } from '../api/client.ts';
import { destinationsQuery, rememberDestinations } from '../api/queries.ts';
import { useLive } from '../api/stream.ts';
import { DestinationTable } from '../components/destination-table.tsx';
import { DestinationForm } from '../components/destination-form.tsx';
import { Dialog } from '../components/dialog.tsx';
import { useMay, useMode } from '../components/environment.ts';
import { Filters, requestOf, SelectFilter, TextFilter } from '../components/filters.tsx';
import { FoundDestinations } from '../components/found-destinations.tsx';
import { Page } from '../components/page.tsx';
import { ListFault, Pager } from '../components/pager.tsx';
import { Secret } from '../components/secret.tsx';
import { Empty } from '../components/show.tsx';
import type { Search } from '../router.tsx';

const STATES = [
  { value: 'healthy', label: 'Healthy' },
  { value: 'failing', label: 'Failing' },
  { value: 'paused', label: 'Paused' },
  { value: 'idle', label: 'Idle' },
];

export function Destinations() {
  const may = useMay();
  const search: Search = useSearch({ strict: false });
  const text = search['search'] ?? '';
  const creating = may('manage') && <CreateDestination />;
  return (
    <Page title="Destinations" actions={creating}>
      <Filters>
        <TextFilter name="search" label="Name, URL or id" />
        <SelectFilter name="state" label="State" any="Any state" choices={STATES} />
      </Filters>
      {text === '' ? <Listed search={search} /> : <FoundDestinations text={text} state={search['state']} />}
    </Page>
  );
}

function Listed({ search }: { search: Search }) {
  const mode = useMode();
  const client = useQueryClient();
  const query = requestOf(search, ['state']);
  const { data, error, isPlaceholderData, refetch } = useQuery(destinationsQuery(mode, query));
  useEffect(() => rememberDestinations(client, mode, data?.data ?? []), [client, mode, data]);
  useLive(mode, ['destination'], search['cursor'] === undefined, () => void refetch());
  return (
    <>
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
    </>
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
