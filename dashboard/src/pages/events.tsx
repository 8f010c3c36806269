import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { eventsQuery } from '../api/queries.ts';
import { useLive } from '../api/stream.ts';
import { useMay, useMode } from '../components/environment.ts';
import { Filters, PeriodFilter, requestOf, TextFilter } from '../components/filters.tsx';
import { Page } from '../components/page.tsx';
import { ListFault, Pager } from '../components/pager.tsx';
import { ReplayEventsButton } from '../components/replay-events.tsx';
import { Empty, Time } from '../components/show.tsx';
import type { Search } from '../router.tsx';

export function Events() {
  const mode = useMode();
  const may = useMay();
  const search: Search = useSearch({ strict: false });
  const query = requestOf(search, ['type']);
  const { data, error, isPlaceholderData, refetch } = useQuery(eventsQuery(mode, query));
  useLive(mode, ['event'], search['cursor'] === undefined, () => void refetch());
  const replaying = may('operate') && <ReplayEventsButton type={search['type'] ?? ''} />;
  const sending = may('publish') && (
    <Link className="button" to="/$mode/send" params={{ mode }}>
      Send an event
    </Link>
  );
  return (
    <Page
      title="Events"
      actions={
        <>
          {replaying}
          {sending}
        </>
      }
    >
      <Filters>
        <TextFilter name="type" label="Type or pattern" placeholder="order.*" />
        <PeriodFilter />
      </Filters>
      <ListFault error={error} retry={() => void refetch()} />
      {data !== undefined && (
        <section className="card">
          {data.data.length === 0 ? (
            <Empty title={Object.keys(query).length > 0 ? 'None match' : 'No events yet'} action={sending}>
              {Object.keys(query).length > 0
                ? 'There may be events of another type or time.'
                : 'A producer sends them with POST /v1/events.'}
            </Empty>
          ) : (
            <div className="table-wrap">
              <table className="cards" aria-label="Events">
                <thead>
                  <tr>
                    <th>Type</th>
                    <th className="wide-only">Event</th>
                    <th className="wide-only">Idempotency key</th>
                    <th className="wide-only">Occurred</th>
                    <th className="number">Accepted</th>
                  </tr>
                </thead>
                <tbody aria-busy={isPlaceholderData}>
                  {data.data.map((event) => (
                    <tr key={event.event_id}>
                      <td className="lead">
                        <Link
                          className="cut strong"
                          to="/$mode/events/$id"
                          params={{ mode, id: event.event_id }}
                          title={event.type}
                        >
                          {event.type}
                        </Link>
                      </td>
                      <td className="wide-only mono nowrap">{event.event_id}</td>
                      <td className="wide-only">
                        <span className="cut mono" title={event.idempotency_key ?? undefined}>
                          {event.idempotency_key ?? <span className="muted">–</span>}
                        </span>
                      </td>
                      <td className="wide-only">
                        <Time at={event.occurred_at} />
                      </td>
                      <td className="number end">
                        <Time at={event.created_at} />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
          <Pager page={data} query={query} />
        </section>
      )}
    </Page>
  );
}
