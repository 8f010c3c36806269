// What a case gives: figures, each with its aim beside it, and how they are printed.
import { median, spread } from './measure.ts';

export type Figure = {
  name: string;
  value: number;
  unit: string;
  /** Over repeated runs, of their median. */
  spread?: number;
  /** What the figure is held against: "≥ 0.65 of the limit". */
  aim?: string;
  /** Whether the aim is met; left out where there is none. */
  met?: boolean;
};

/**
 * `notes`: what a reader must know of the figures, or why there are none. `unquiet`: what else the machine did, so that
 * the figures mean nothing and no aim counts as met or missed.
 */
export type Report = { case: string; figures: Figure[]; notes?: string[]; unquiet?: string };

/** What `--json` writes of a run. */
export type Results = { machine: string; store: string; scale: number; date: string; reports: Report[] };

/** The median of what several runs gave. */
export function figureOf(name: string, unit: string, values: readonly number[]): Figure {
  return { name, value: median(values), unit, ...(values.length > 1 ? { spread: spread(values) } : {}) };
}

/** A figure with an aim that is a number it must not be above, or below. */
export function aimed(figure: Figure, bound: { atMost: number } | { atLeast: number }, note = ''): Figure {
  const unit = figure.unit === '' ? '' : ` ${figure.unit}`;
  const [sign, limit] = 'atMost' in bound ? ['≤', bound.atMost] : ['≥', bound.atLeast];
  const met = 'atMost' in bound ? figure.value <= limit : figure.value >= limit;
  return { ...figure, aim: `${sign} ${format(limit)}${unit}${note}`, met };
}

/** A table in Markdown, which is legible as it is. */
export function formatReport(report: Report): string {
  return [`### ${report.case}`, formatFigures(report), ''].join('\n\n').trimEnd().concat('\n');
}

/** Without the heading. */
export function formatFigures({ figures, notes = [], unquiet }: Report): string {
  const rows = figures.map((figure) => [
    figure.name,
    `${format(figure.value)}${figure.unit === '' ? '' : ` ${figure.unit}`}`,
    figure.spread === undefined ? '' : `± ${Math.round(figure.spread * 50)} %`,
    figure.aim ?? '',
    figure.met === undefined || unquiet !== undefined ? '' : figure.met ? 'yes' : 'NO',
  ]);
  const head = ['figure', 'value', 'spread', 'aim', 'met'];
  // A column that says nothing is left out.
  const shown = head.map((_, i) => i).filter((i) => rows.some((row) => row[i] !== ''));
  const pick = (row: string[]): string[] => shown.map((i) => row[i]!);
  const table = rows.length === 0 ? [] : [formatTable(pick(head), rows.map(pick))];
  const warning = unquiet === undefined ? [] : [`**${unquiet}**`];
  return [...warning, ...table, ...notes].join('\n\n');
}

function formatTable(head: string[], rows: string[][]): string {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]!.length)));
  const line = (cells: string[]): string => `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}

/** Three significant digits, or all of a larger whole number. */
export function format(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}
