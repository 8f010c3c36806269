// How things are just now, and a small chart of how they were.
import type { StatsNow, StatsSeries } from '../../../sdk/typescript/src/postrider.ts';
import { paintState, percentage, timeOfDay } from '../api/cells.ts';
import { serviceCommand, type Asking } from '../api/service-command.ts';
import { show, WATCH_FLAG } from '../api/watch.ts';
import { whereGiven } from '../command.ts';
import { RANGE_FLAGS, readRange } from '../input/time-flag.ts';
import { breakAtSpaces, COLUMNS, joinWithin, printable } from '../terminal.ts';
import { paint } from '../table.ts';
import { barChart, squeeze } from './chart.ts';

const STEPS = ['1m', '5m', '1h', '1d'] as const;
const CHART_ROWS = 4;
const MARGIN = 2;

export const statsCommand = serviceCommand(
  {
    name: 'stats',
    summary: 'Say how things are now, with a small chart of the past',
    usage: ['stats [--watch] [flags]'],
    examples: ['stats', 'stats --watch', 'stats --since 7d --destination dst_…', 'stats --json'],
    flags: {
      destination: { type: 'string', meaning: 'only attempts at this one', value: 'ID', param: 'destination_id' },
      type: { type: 'string', meaning: 'only this event type', value: 'TYPE', param: 'event_type' },
      step: { type: 'string', meaning: 'what one bar of the chart adds up', value: 'STEP', options: STEPS },
      ...RANGE_FLAGS,
      watch: WATCH_FLAG,
    },
  },
  async (asking) => {
    const query = queryOf(asking);
    // How many events were accepted is counted for the environment, not by destination.
    const hasEvents = asking.line.textOf('destination') === null;
    await show(asking, {
      read: async (signal) => {
        const [now, stats] = await Promise.all([
          asking.client.stats.now({ signal }),
          asking.client.stats.get(query, { signal }),
        ]);
        return [{ now, ...stats }];
      },
      idOf: () => 'stats',
      format: ([stats], width) => format({ ...stats!, hasEvents }, width ?? COLUMNS).join('\n'),
    });
  },
);

function queryOf({ line }: Asking) {
  return {
    ...readRange(line),
    ...whereGiven({
      destination_id: line.textOf('destination'),
      event_type: line.textOf('type'),
      step: line.textOf('step') as (typeof STEPS)[number] | null,
    }),
  };
}

type Series = StatsSeries & { hasEvents: boolean };

function format({ now, ...series }: { now: StatsNow } & Series, width: number): string[] {
  return [...formatNow(now, width), '', ...formatCharts(series, width - MARGIN), ...formatTroubles(now, width)];
}

function formatNow(now: StatsNow, columns: number): string[] {
  const { active, paused, failing } = now.destinations;
  const rates = [
    `${perSecond(now.events_per_second)} events/s`,
    `${perSecond(now.attempts_per_second)} attempts/s`,
    `${percentage(now.success_rate)} succeed`,
    `${now.in_flight} in flight`,
  ];
  const { pending, retrying, held, dead_24h: dead } = now;
  const counts = [`${pending} pending`, `${retrying} retrying`, `${held} held`, `${dead} dead in 24 h`];
  const destinations = [`destinations: ${active} active`, `${paused} paused`, `${failing} failing`];
  return [rates, counts, destinations].flatMap((texts) => joinWithin(texts, { columns, gap: '   ' }));
}

function perSecond(rate: number): string {
  return rate.toFixed(rate < 10 ? 2 : 0);
}

function formatCharts({ step, data, hasEvents }: Series, columns: number): string[] {
  const [first] = data;
  const last = data.at(-1);
  if (first === undefined || last === undefined) return [];
  const succeeded = data.map(({ attempts }) => attempts.succeeded ?? 0);
  const failed = data.map(({ attempts }, nth) => {
    return Object.values(attempts).reduce((sum, count) => sum + count, 0) - succeeded[nth]!;
  });
  const together = Math.ceil(data.length / squeeze(succeeded, columns).length);
  const each = together === 1 ? step : `${together} × ${step}`;
  const range = `each ${each}, ${shortRange(first.at, last.at)}`;
  const events = { title: 'events accepted', values: data.map((point) => point.events_accepted), rows: CHART_ROWS };
  const charts = [
    ...(hasEvents ? [events] : []),
    { title: 'attempts that succeeded', values: succeeded, rows: CHART_ROWS },
    { title: 'attempts that failed', values: failed, rows: 2 },
  ];
  return charts.flatMap(({ title, values, rows }, nth) =>
    chart(nth === 0 ? `${title}, ${range}` : title, values, { columns, rows }),
  );
}

function chart(title: string, values: readonly number[], size: { columns: number; rows: number }): string[] {
  const sum = values.reduce((all, one) => all + one, 0);
  const head = `${title}: ${sum} in all, at most ${Math.max(0, ...squeeze(values, size.columns))}`;
  const margin = ' '.repeat(MARGIN);
  // An empty chart says nothing that its title does not.
  const bars = sum === 0 ? [] : barChart(values, size).map((line) => margin + paint('cyan', line));
  return [...breakAtSpaces(head, size.columns + MARGIN), ...bars, ''];
}

/** `11-25 09:30Z to 10:30Z`. */
function shortRange(first: string, last: string): string {
  const isOneDay = first.slice(0, 10) === last.slice(0, 10);
  return `${shortTime(first)} to ${shortTime(last).slice(isOneDay ? '11-25 '.length : 0)}`;
}

function shortTime(at: string): string {
  return `${at.slice(5, 10)} ${timeOfDay(at).slice(0, 5)}Z`;
}

function formatTroubles({ troubles }: StatsNow, width: number): string[] {
  return troubles.flatMap(({ destination_id: id, name, state, summary }) => {
    const text = printable(name === null || name === '' ? `${id}: ${summary}` : `${name}: ${summary} (${id})`);
    const indent = ' '.repeat(state.length + 2);
    const [first = '', ...rest] = breakAtSpaces(text, Math.max(20, width - indent.length));
    return [`${paintState(state)}  ${first}`, ...rest.map((line) => indent + line)];
  });
}
