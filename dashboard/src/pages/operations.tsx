import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { answerOf, api, type Operation } from '../api/client.ts';
import { operationsQuery } from '../api/queries.ts';
import { ConfirmButton } from '../components/dialog.tsx';
import { useMay, useMode } from '../components/environment.ts';
import { pick } from '../components/filters.tsx';
import { useRefusal } from '../components/notices.tsx';
import { OperationProgress } from '../components/operation-progress.tsx';
import { Page } from '../components/page.tsx';
import { ListFault, Pager } from '../components/pager.tsx';
import { Badge, DestinationLink, Empty, Time, useDestinationName } from '../components/show.tsx';
import type { Search } from '../router.tsx';
import { count } from '../words/numbers.ts';
import { DEAD_REASON, type Tone } from '../words/outcomes.ts';

const KIND: Record<Operation['kind'], string> = {
  dlq_replay: 'Replay of dead letters',
  destination_recovery: 'Recovery of a destination',
  event_replay: 'Replay of events',
};
const STATUS: Record<Operation['status'], { word: string; tone: Tone }> = {
  running: { word: 'Running', tone: 'wait' },
  paused: { word: 'Paused', tone: 'idle' },
  done: { word: 'Done', tone: 'good' },
  cancelled: { word: 'Cancelled', tone: 'idle' },
  failed: { word: 'Failed', tone: 'bad' },
};

export function Operations() {
  const mode = useMode();
  const search: Search = useSearch({ strict: false });
  const query = pick(search, ['cursor']);
  const { data, error, refetch } = useQuery({
    ...operationsQuery(mode, query),
    refetchInterval: ({ state }) => (state.data?.data.some(({ status }) => status === 'running') ? 1_000 : 10_000),
  });
  return (
    <Page title="Operations">
      <ListFault error={error} retry={() => void refetch()} />
      {data !== undefined && (
        <section className="card">
          {data.data.length === 0 ? (
            <Empty title="No operations yet">
              Replaying a group of dead letters, or recovering a destination, starts one and shows it here.
            </Empty>
          ) : (
            <div className="table-wrap">
              <table className="cards" aria-label="Operations">
                <thead>
                  <tr>
                    <th>Operation</th>
                    <th>Status</th>
                    <th>Progress</th>
                    <th>Started</th>
                    <th className="fit">
                      <span className="unseen">Actions</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {data.data.map((operation) => (
                    <Row key={operation.id} operation={operation} />
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

function Row({ operation }: { operation: Operation }) {
  const { word, tone } = STATUS[operation.status];
  return (
    <tr>
      <td className="lead">
        <span className="strong" title={operation.id}>
          {KIND[operation.kind]}
        </span>
        <Request request={operation.request} />
      </td>
      <td className="end">
        <Badge tone={tone}>{word}</Badge>
      </td>
      <td className="whole">
        <OperationProgress operation={operation} />
      </td>
      <td>
        <Time at={operation.created_at} />
      </td>
      <td className="fit">
        <Actions operation={operation} />
      </td>
    </tr>
  );
}

function Request({ request }: Pick<Operation, 'request'>) {
  return (
    <>
      {destinationsOf(request).map((id) => (
        <DestinationLink key={id} id={id} />
      ))}
      <div className="muted small">{inWords(request)}</div>
    </>
  );
}

function destinationsOf({ destination_id: id, destination_ids: ids = [] }: Operation['request']): string[] {
  return id === undefined ? ids : [id];
}

function inWords({ event_type: type, dead_reason: reason, since, until, ...rest }: Operation['request']): string {
  const clock = (at: string): string => `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`;
  const parts = [
    type,
    reason && DEAD_REASON[reason].word.toLowerCase(),
    since && `from ${clock(since)}`,
    until && `until ${clock(until)}`,
    rest.missing_only === true && 'only where missing',
    `${count(rest.per_second)} a second`,
  ];
  return parts.filter(Boolean).join(', ');
}

function Actions({ operation }: { operation: Operation }) {
  const mode = useMode();
  const may = useMay();
  const refuse = useRefusal();
  const client = useQueryClient();
  const { kind, request } = operation;
  const about = `${KIND[kind]} ${useDestinationName(destinationsOf(request)[0])} ${inWords(request)}`;
  if (!may('operate') || operation.finished_at !== null) return null;
  const turn = async (verb: 'cancel' | 'pause' | 'resume'): Promise<void> => {
    try {
      await answerOf(api(mode).POST(`/v1/operations/{id}/${verb}`, { params: { path: { id: operation.id } } }));
    } finally {
      await client.invalidateQueries({ queryKey: [mode, '/v1/operations'] });
    }
  };
  const isRunning = operation.status === 'running';
  const label = isRunning ? 'Pause' : 'Resume';
  return (
    <div className="row">
      <button
        type="button"
        className="button slim"
        aria-label={`${label} ${about}`}
        onClick={() => void turn(isRunning ? 'pause' : 'resume').catch(refuse)}
      >
        {label}
      </button>
      <ConfirmButton
        label="Cancel"
        of={about}
        title={`Cancel the ${KIND[kind].toLowerCase()}`}
        confirm="Cancel it"
        dismiss="Keep it"
        danger
        className="button slim"
        act={() => turn('cancel')}
      >
        <p>What it has sent stays sent. What it has not come to stays as it is, and it cannot be resumed.</p>
      </ConfirmButton>
    </div>
  );
}
