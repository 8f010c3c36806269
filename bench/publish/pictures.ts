// The two pictures: throughput and CPU beside others, and what producers and receivers wait for at three rates.
import { format, type Results } from '../report.ts';
import { PEERS, PEERS_MEASURED, type Peer } from './peers.ts';
import { findFigure, storeName } from './results.ts';
import { bar, dot, line, logScale, svgOf, text, type Drawing } from './svg.ts';

const WIDTH = 880;
const ROW = 26;
const MARGIN = 16;
const BAR = 14;

const NAMES_WIDTH = 320;
const BARS = [NAMES_WIDTH + MARGIN, 530] as const;
const DOTS = [620, WIDTH - 90] as const;
const CPU_DOMAIN = [50, 20_000] as const;
const HEAD = 64;

export function drawPeers(): string {
  const height = HEAD + PEERS.length * ROW + 40;
  const bottom = HEAD + PEERS.length * ROW;
  const cpuAt = logScale(CPU_DOMAIN, DOTS);
  const most = Math.max(...PEERS.flatMap(({ delivered }) => delivered));
  const parts: Drawing = [
    text(MARGIN, 28, 'Webhooks delivered by each, everything on the same two cores', { kind: 'title' }),
    text(BARS[0], 52, 'delivered a second', { kind: 'muted' }),
    text(DOTS[0], 52, 'CPU of a delivery, logarithmic', { kind: 'muted' }),
    line('grid', [BARS[0], HEAD - 4], [BARS[0], bottom]),
    line('grid', [DOTS[0], HEAD - 4], [DOTS[0], bottom]),
    ...PEERS.flatMap((peer, i) => {
      const middle = HEAD + i * ROW + ROW / 2;
      const kind = peer.name.startsWith('Postrider') ? 'ours' : 'other';
      const width = (Math.max(...peer.delivered) / most) * (BARS[1] - BARS[0]);
      const x = cpuAt(Math.max(...peer.cpu));
      return [
        text(BARS[0] - 10, middle + 4, peer.name, { anchor: 'end' }),
        bar(kind, { x: BARS[0], y: middle - BAR / 2, width, height: BAR }),
        text(BARS[0] + width + 6, middle + 4, tellRange(peer.delivered)),
        dot(kind, x, middle),
        text(x + 10, middle + 4, tellCpu(peer)),
      ];
    }),
    text(MARGIN, height - 14, `${PEERS_MEASURED[0]!.toUpperCase()}${PEERS_MEASURED.slice(1)}.`, { kind: 'muted' }),
  ];
  return svgOf('Deliveries a second and CPU of a delivery, of Postrider and others', { width: WIDTH, height }, parts);
}

export function tellRange(values: readonly number[]): string {
  return values.map(format).join('-');
}

export function tellCpu({ cpu }: Peer): string {
  return Math.max(...cpu) < 1_000 ? `${tellRange(cpu)} µs` : `${tellRange(cpu.map((value) => value / 1_000))} ms`;
}

const RATES = ['100/s', '1,000/s', '4,000/s'];
const MOMENTS = ['answer', 'arrival'];
const MARKS = ['p50', 'p99', 'p99.9'] as const;
const LATENCY_NAMES = 130;
const PANEL_GAP = 40;
const MS_DOMAIN = [0.5, 200] as const;

/** A panel for each run that has the case. */
export function drawLatencies(runs: readonly Results[]): string {
  const rows = RATES.length * MOMENTS.length;
  const height = HEAD + rows * ROW + 60;
  const room = (WIDTH - LATENCY_NAMES - MARGIN - (runs.length - 1) * PANEL_GAP) / runs.length;
  const parts: Drawing = [
    text(MARGIN, 28, 'What a producer waits for its answer, and an event for its arrival', { kind: 'title' }),
    ...RATES.flatMap((rate, i) =>
      MOMENTS.map((moment, j) => text(MARGIN, rowAt(i * MOMENTS.length + j) + 4, `${rate}: ${moment}`)),
    ),
    ...runs.flatMap((one, i) => {
      const left = LATENCY_NAMES + i * (room + PANEL_GAP);
      return drawPanel(one, [left, left + room]);
    }),
    ...drawLegend(height - 14),
  ];
  return svgOf(
    'Latency of answer and arrival at 100, 1,000 and 4,000 events a second',
    { width: WIDTH, height },
    parts,
  );
}

function rowAt(row: number): number {
  return HEAD + row * ROW + ROW / 2;
}

function drawPanel(run: Results, range: readonly [number, number]): Drawing {
  const at = logScale(MS_DOMAIN, range);
  const bottom = HEAD + RATES.length * MOMENTS.length * ROW;
  const rows = RATES.flatMap((rate) => MOMENTS.map((moment) => `${rate}: ${moment}`));
  return [
    text(range[0], 52, storeName(run), { kind: 'muted' }),
    ...[1, 10, 100].flatMap((tick) => [
      line('grid', [at(tick), HEAD - 4], [at(tick), bottom]),
      text(at(tick), bottom + 16, `${tick} ms`, { kind: 'muted', anchor: 'middle' }),
    ]),
    ...rows.flatMap((row, i) => {
      const [p50, p99, p999] = MARKS.map((mark) => clamp(findFigure(run, 'latency', `${row} ${mark}`).value));
      const y = rowAt(i);
      return [
        line('ours range', [at(p50!), y], [at(p999!), y]),
        line('ours range', [at(p999!), y - 5], [at(p999!), y + 5]),
        dot('ours hollow', at(p99!), y),
        dot('ours', at(p50!), y),
      ];
    }),
  ];
}

/** What is off the axis is drawn at its end. */
function clamp(value: number): number {
  return Math.min(MS_DOMAIN[1], Math.max(MS_DOMAIN[0], value));
}

function drawLegend(y: number): Drawing {
  const x = LATENCY_NAMES;
  return [
    dot('ours', x + 4, y - 4),
    text(x + 14, y, 'half of them (p50)', { kind: 'muted' }),
    dot('ours hollow', x + 154, y - 4),
    text(x + 164, y, '99 of 100', { kind: 'muted' }),
    line('ours range', [x + 254, y - 9], [x + 254, y + 1]),
    text(x + 264, y, '999 of 1,000', { kind: 'muted' }),
  ];
}
