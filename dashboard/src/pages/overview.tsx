// Do events flow, which destination is in trouble and why, what helps.
import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import type { Outcome, Schemas, StatsPoint } from '../api/client.ts';
import { deliveriesQuery, destinationsQuery, RANGES, statsNowQuery, statsQuery, type Range } from '../api/queries.ts';
import { serviceTime } from '../api/service-time.ts';
import { useLive } from '../api/stream.ts';
import { Chart, type Line } from '../components/chart.tsx';
import { DeliveryTable } from '../components/delivery-table.tsx';
import { useMay, useMode } from '../components/environment.ts';
import { Card, Page } from '../components/page.tsx';
import { Badge, DestinationLink, Empty, Fault, Time, useDestinationName } from '../components/show.tsx';
import type { Search } from '../router.tsx';
import { count, percent, plural, rate, seconds } from '../words/numbers.ts';
import { ratesOf } from '../words/rates.ts';
import { sentence } from '../words/sentence.ts';
import { SPAN_STEPS } from '../words/time.ts';
import { PauseButton } from '../components/destination-actions.tsx';

export function Overview() {
  const may = useMay();
  return <Page title="Overview">{may('read') ? <Now /> : <Unreadable />}</Page>;
}

function Unreadable() {
  return (
    <Empty title="This key cannot read">
      It has no scope to see events and deliveries. What it may do is in the navigation; another key shows more.
    </Empty>
  );
}

function Now() {
  const mode = useMode();
  const { data: now, error } = useQuery(statsNowQuery(mode));
  const hasDestinations = now !== undefined && now.destinations.active + now.destinations.paused > 0;
  return (
    <div className="stack">
      <Fault error={error} />
      {now !== undefined && <Figures now={now} />}
      {hasDestinations && <Troubles troubles={now.troubles} />}
      {hasDestinations && <Charts />}
      <Latest />
    </div>
  );
}

function Figures({ now }: { now: Schemas['StatsNow'] }) {
  const mode = useMode();
  const waiting = now.pending + now.retrying;
  return (
    <dl className="figures" aria-label="Now">
      <div className="figure">
        <dt>Events a second</dt>
        <dd>{rate(now.events_per_second)}</dd>
      </div>
      <div className="figure">
        <dt>Attempts a second</dt>
        <dd>{rate(now.attempts_per_second)}</dd>
      </div>
      <div className="figure">
        <dt>Success, last minute</dt>
        <dd className={now.success_rate !== null && now.success_rate < 0.95 ? 'tone-bad' : undefined}>
          {now.success_rate === null ? '–' : percent(now.success_rate)}
        </dd>
      </div>
      <div className="figure">
        <dt>Unfinished</dt>
        <dd>{count(waiting)}</dd>
        <dd className="note">
          {now.held > 0 ? `${count(now.held)} held by pauses` : `${count(now.in_flight)} on the wire`}
        </dd>
      </div>
      <div className="figure">
        <dt>Oldest due</dt>
        <dd>
          <Time at={now.oldest_due_at} none="none" />
        </dd>
      </div>
      <div className="figure">
        <dt>Dead in 24 h</dt>
        <dd className={now.dead_24h > 0 ? 'tone-bad' : undefined}>
          <Link to="/$mode/dlq" params={{ mode }} search={{ period: '24h' }}>
            {count(now.dead_24h)}
          </Link>
        </dd>
      </div>
    </dl>
  );
}

/** So many are told, the worst first: there may be more. */
const TROUBLES_MAX = 20;

function Troubles({ troubles }: { troubles: readonly Schemas['Trouble'][] }) {
  const mode = useMode();
  if (troubles.length === 0) {
    return (
      <p className="callout good">
        <span className="strong">No destination is in trouble.</span>
      </p>
    );
  }
  const isPart = troubles.length === TROUBLES_MAX;
  return (
    <Card
      title={isPart ? 'Destinations in most trouble' : `${plural(troubles.length, 'destination')} in trouble`}
      flush
      actions={
        isPart && (
          <Link to="/$mode/destinations" params={{ mode }} search={{ state: 'failing' }}>
            All that fail
          </Link>
        )
      }
    >
      <div className="table-wrap">
        <table className="cards" aria-label="Destinations in trouble">
          <thead>
            <tr>
              <th>Destination</th>
              <th>Why</th>
              <th className="number">Waiting</th>
              <th className="number">Oldest due</th>
              <th className="fit">
                <span className="unseen">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {troubles.map((trouble) => (
              <TroubleRow key={trouble.destination_id} trouble={trouble} />
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

function TroubleRow({ trouble }: { trouble: Schemas['Trouble'] }) {
  const name = useDestinationName(trouble.destination_id);
  return (
    <tr>
      <td className="lead">
        <Badge tone={trouble.state === 'paused' ? 'idle' : 'bad'}>
          <DestinationLink id={trouble.destination_id} className="cut strong" />
        </Badge>
      </td>
      <td className="whole">{sentence(trouble.summary)}</td>
      <td className="number wide-only">{count(trouble.unfinished)}</td>
      <td className="number wide-only">
        <Time at={trouble.oldest_due_at} />
      </td>
      <td className="fit whole last">
        <PauseButton
          id={trouble.destination_id}
          isPaused={trouble.state === 'paused'}
          of={name}
          className="button slim"
        />
      </td>
    </tr>
  );
}

/** Stacked from the ground in this order; with those that did not occur left out, but for the first and the last. */
const OUTCOMES: readonly { line: Line; of: readonly Outcome[] }[] = [
  { line: { label: 'refused', color: 'bad', fill: true }, of: ['bad_status', 'invalid_response', 'blocked'] },
  { line: { label: 'timed out', color: 'wait', fill: true }, of: ['timed_out', 'cancelled'] },
  {
    line: { label: 'no connection', color: 'line-strong', fill: true },
    of: ['connect_failed', 'dns_failed', 'tls_failed', 'reset'],
  },
  { line: { label: 'succeeded', color: 'good', fill: true }, of: ['succeeded'] },
];
const LATENCY_LINES: Line[] = [
  { label: 'p50', color: 'text' },
  { label: 'p95', color: 'muted' },
  { label: 'p99', color: 'wait' },
];
const STEP_SECONDS = { '1m': 60, '5m': 300, '1h': 3_600, '1d': 86_400 };

export function Charts({ destinationId }: { destinationId?: string }) {
  const mode = useMode();
  const search: Search = useSearch({ strict: false });
  const range: Range = search['range'] !== undefined && search['range'] in RANGES ? (search['range'] as Range) : '1h';
  const { data, dataUpdatedAt } = useQuery(statsQuery(mode, range, destinationId));
  if (data === undefined) return null;
  const times = data.data.map(({ at }) => Date.parse(at) / 1_000);
  // While another range is on its way, what is shown has no time of its own.
  const readAt = serviceTime(dataUpdatedAt || undefined) / 1_000;
  const steps = { beginnings: times, seconds: STEP_SECONDS[data.step], readAt };
  const stacked = stackOutcomes(data.data);
  const lines = stacked.map(({ line }) => line);
  const latency = latencyOf(data.data, destinationId === undefined ? 'first_attempt_seconds' : 'attempt_seconds');
  return (
    <div className="stack-small">
      <RangeChoice range={range} />
      <div className="halves">
        <Card title="Attempts a second" actions={<Legend lines={lines} />}>
          <Chart
            label={`Attempts a second over ${RANGES[range].label}`}
            times={times}
            // What is on top is drawn first, from the ground; the others over it.
            values={stacked.map(({ sums }) => ratesOf(sums, steps)).reverse()}
            lines={[...lines].reverse()}
            format={rate}
          />
        </Card>
        <Card
          title={destinationId === undefined ? 'Time to first attempt' : 'Time of an attempt'}
          actions={<Legend lines={LATENCY_LINES} />}
        >
          <Chart
            label={`Percentiles over ${RANGES[range].label}`}
            times={times}
            values={latency}
            lines={LATENCY_LINES}
            format={(value) => (value === 0 ? '0' : seconds(value))}
            ticksApart={SPAN_STEPS}
          />
        </Card>
      </div>
    </div>
  );
}

/** With how much there is up to each of them, from the ground. */
function stackOutcomes(points: readonly StatsPoint[]): { line: Line; sums: number[] }[] {
  const sums = points.map(() => 0);
  return OUTCOMES.flatMap(({ line, of }, at) => {
    let total = 0;
    for (const [index, { attempts }] of points.entries()) {
      const value = of.reduce((sum, outcome) => sum + (attempts[outcome] ?? 0), 0);
      sums[index]! += value;
      total += value;
    }
    const isShown = total > 0 || at === 0 || at === OUTCOMES.length - 1;
    return isShown ? [{ line, sums: [...sums] }] : [];
  });
}

function latencyOf(points: readonly StatsPoint[], of: 'first_attempt_seconds' | 'attempt_seconds') {
  return (['p50', 'p95', 'p99'] as const).map((which) => points.map((point) => point[of][which]));
}

function RangeChoice({ range }: { range: Range }) {
  const search: Search = useSearch({ strict: false });
  return (
    <nav className="row" aria-label="Range of the charts">
      {(Object.keys(RANGES) as Range[]).map((choice) => (
        <Link
          key={choice}
          className={choice === range ? 'button slim chosen' : 'button slim'}
          to="."
          search={{ ...search, range: choice }}
          aria-current={choice === range ? 'true' : undefined}
        >
          {RANGES[choice].label}
        </Link>
      ))}
    </nav>
  );
}

function Legend({ lines }: { lines: readonly Line[] }) {
  return (
    <ul className="legend">
      {lines.map(({ label, color }) => (
        <li key={label}>
          <i style={{ background: `var(--${color})` }} />
          {label}
        </li>
      ))}
    </ul>
  );
}

function Latest() {
  const mode = useMode();
  const { data, refetch } = useQuery(deliveriesQuery(mode, {}));
  const { data: destinations } = useQuery(destinationsQuery(mode, {}));
  useLive(mode, ['delivery'], true, () => void refetch());
  if (data === undefined) return null;
  return (
    <Card
      title="Latest deliveries"
      flush
      actions={
        <Link to="/$mode/deliveries" params={{ mode }}>
          All
        </Link>
      }
    >
      {data.data.length === 0 ? (
        <FirstSteps hasDestination={(destinations?.data.length ?? 0) > 0} />
      ) : (
        <DeliveryTable label="Latest deliveries" deliveries={data.data.slice(0, 10)} />
      )}
    </Card>
  );
}

function FirstSteps({ hasDestination }: { hasDestination: boolean }) {
  const mode = useMode();
  return (
    <Empty
      title="Nothing has been delivered yet"
      action={
        <Link className="button primary" to={hasDestination ? '/$mode/send' : '/$mode/destinations'} params={{ mode }}>
          {hasDestination ? 'Send an event' : 'Add a destination'}
        </Link>
      }
    >
      {hasDestination
        ? 'Send an event of a type that a subscription matches, and its delivery shows here.'
        : 'It takes a destination, a subscription to the events it wants, and an event.'}
    </Empty>
  );
}
