import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { answerOf, api, type Delivery } from '../api/client.ts';
import { dlqQuery } from '../api/queries.ts';
import { useLive } from '../api/stream.ts';
import { BulkOperation } from '../components/bulk-operation.tsx';
import { DeliveryTable } from '../components/delivery-table.tsx';
import { useMay, useMode } from '../components/environment.ts';
import { DestinationFilter, Filters, PeriodFilter, pick, requestOf, useFilters } from '../components/filters.tsx';
import { Card, Page } from '../components/page.tsx';
import { ListFault, Pager } from '../components/pager.tsx';
import { BulkBar, useSelection } from '../components/select-many.tsx';
import { DestinationLink, Empty, useDestinationName } from '../components/show.tsx';
import type { Search } from '../router.tsx';
import { count } from '../words/numbers.ts';
import { DEAD_REASON } from '../words/outcomes.ts';

const PERIOD = ['since', 'until'];

export function Dlq() {
  const mode = useMode();
  const may = useMay();
  const search: Search = useSearch({ strict: false });
  const query = requestOf(search, ['destination_id', 'event_id']);
  const { data, error, isPlaceholderData, refetch } = useQuery(dlqQuery(mode, query));
  useLive(mode, ['delivery'], search['cursor'] === undefined, () => void refetch());
  const [asked, ask] = useState<Replay | null>(null);
  const selection = useSelection(data?.data);
  const replay = (id: string): Promise<unknown> =>
    answerOf(api(mode).POST('/v1/dlq/{delivery_id}/replay', { params: { path: { delivery_id: id } } }));
  // A replay of many cannot be of one event: its dead letters are selected instead.
  const canReplay = may('operate') && query['event_id'] === undefined;
  return (
    <Page
      title="Dead letters"
      actions={
        canReplay &&
        data !== undefined &&
        data.data.length > 0 && (
          <button
            type="button"
            className="button"
            onClick={() => ask({ title: 'Replay all that match', filter: pick(query, ['destination_id', ...PERIOD]) })}
          >
            Replay all
          </button>
        )
      }
    >
      <Filters>
        <DestinationFilter />
        <PeriodFilter />
      </Filters>
      <ListFault error={error} retry={() => void refetch()} />
      {data !== undefined && (
        <div className="stack">
          {data.data.length > 0 && (
            <Groups
              deliveries={data.data}
              isPart={data.has_more}
              replay={
                canReplay &&
                ((group) => ask({ title: 'Replay this group', filter: { ...pick(query, PERIOD), ...group } }))
              }
            />
          )}
          <section className="card">
            {data.data.length === 0 ? (
              <NoDead isFiltered={Object.keys(query).length > 0} />
            ) : (
              <DeliveryTable
                label="Dead letters"
                deliveries={data.data}
                isBusy={isPlaceholderData}
                selection={may('operate') ? selection : undefined}
              />
            )}
            <Pager page={data} query={query} />
          </section>
        </div>
      )}
      <BulkBar {...selection} verb="Replay" act={replay} onDone={() => void refetch()} />
      {asked !== null && <ReplayAll {...asked} onClose={() => ask(null)} />}
    </Page>
  );
}

function NoDead({ isFiltered }: { isFiltered: boolean }) {
  return isFiltered ? (
    <Empty title="None match">Of this destination and time nothing is dead.</Empty>
  ) : (
    <Empty title="No dead letters">Every delivery arrived, or is still being tried.</Empty>
  );
}

type Group = { destinationId: string; reason: NonNullable<Delivery['dead_reason']>; size: number };

function groupsOf(deliveries: readonly Delivery[]): Group[] {
  const groups = new Map<string, Group>();
  for (const { destination_id: destinationId, dead_reason: reason } of deliveries) {
    if (reason === null) continue;
    const key = `${destinationId} ${reason}`;
    const group = groups.get(key) ?? { destinationId, reason, size: 0 };
    groups.set(key, { ...group, size: group.size + 1 });
  }
  return [...groups.values()].sort((a, b) => b.size - a.size);
}

type GroupsProps = {
  deliveries: readonly Delivery[];
  isPart: boolean;
  replay: false | ((group: { destination_id: string; dead_reason: Group['reason'] }) => void);
};

/** By destination and cause. The counts are of this page: the dry run counts all of a group. */
function Groups({ deliveries, isPart, replay }: GroupsProps) {
  return (
    <Card title={isPart ? `Causes among the ${deliveries.length} shown` : 'Causes'} flush>
      <div className="table-wrap">
        <table className="cards" aria-label="By destination and cause">
          <thead>
            <tr>
              <th>Destination</th>
              <th>Cause</th>
              <th>What to do</th>
              <th className="number">Dead</th>
              <th className="fit">
                <span className="unseen">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {groupsOf(deliveries).map((group) => (
              <GroupRow key={`${group.destinationId} ${group.reason}`} group={group} replay={replay} />
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

function GroupRow({ group, replay }: { group: Group; replay: GroupsProps['replay'] }) {
  const [, change] = useFilters();
  const about = `${useDestinationName(group.destinationId)}: ${DEAD_REASON[group.reason].word}`;
  return (
    <tr>
      <td className="lead">
        <DestinationLink id={group.destinationId} />
      </td>
      <td className="whole">{DEAD_REASON[group.reason].word}</td>
      <td className="muted whole">{DEAD_REASON[group.reason].action}</td>
      <td className="number end">{count(group.size)}</td>
      <td className="fit whole last">
        <div className="row">
          <button
            type="button"
            className="button slim"
            aria-label={`Show ${about}`}
            onClick={() => change({ destination_id: group.destinationId })}
          >
            Show
          </button>
          {replay && group.reason !== 'destination_deleted' && (
            <button
              type="button"
              className="button slim"
              aria-label={`Replay ${about}`}
              onClick={() => replay({ destination_id: group.destinationId, dead_reason: group.reason })}
            >
              Replay
            </button>
          )}
        </div>
      </td>
    </tr>
  );
}

type Replay = { title: string; filter: Search };

function ReplayAll({ title, filter, onClose }: Replay & { onClose: () => void }) {
  const mode = useMode();
  return (
    <BulkOperation
      title={title}
      verb="Replay them"
      onClose={onClose}
      initial={() => filter}
      start={(request, pace) => answerOf(api(mode).POST('/v1/dlq/replay', { body: { ...request, ...pace } }))}
    />
  );
}
