// Rows under a header. On a terminal a row stays within its width: what does not fit beside the rest goes below, where
// it says something.
import { styleText } from 'node:util';
import { fit, joinWithin, printable, sizeOf, widthOf } from './terminal.ts';

export type Style = Parameters<typeof styleText>[0];

/** `widthMax`: what is longer is cut, but only where the terminal is too narrow for all of it. */
export type Column<Row> = {
  title: string;
  of: (row: Row) => string;
  widthMax?: number;
  /** Seen only on a terminal that has colours. */
  style?: (row: Row) => Style;
};

const GAP = '  ';
/** What a cell has that says nothing. */
const NOTHING = '-';

/** `width`: of the terminal; null: not one, so each row is one line, whole. */
export function formatTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[], width: number | null): string {
  const cells = rows.map((row) => columns.map((column) => printable(column.of(row))));
  const whole = columns.map(({ title }, i) => Math.max(title.length, ...cells.map((row) => widthOf(row[i]!))));
  const isWide = width === null || lineWidth(whole) <= width;
  const widths = isWide ? whole : whole.map((one, i) => Math.min(one, columns[i]!.widthMax ?? one));
  const beside = isWide ? columns.length : countBeside(widths, width);
  const line = (texts: readonly string[], row: Row | null): string =>
    texts
      .slice(0, beside)
      .map((text, i) => {
        const cell = fit(text, i === beside - 1 ? Math.min(widths[i]!, widthOf(text)) : widths[i]!);
        const style = row === null ? undefined : columns[i]!.style?.(row);
        return style === undefined ? cell : paint(style, cell);
      })
      .join(GAP)
      .trimEnd();
  const below = (texts: readonly string[]): string[] =>
    joinWithin(
      texts.slice(beside).flatMap((text, i) => (text === NOTHING ? [] : `${columns[beside + i]!.title} ${text}`)),
      { columns: (width ?? 0) - GAP.length, gap: GAP },
    ).map((one) => GAP + one);
  const title = line(
    columns.map((column) => column.title),
    null,
  );
  return [title, ...cells.flatMap((texts, nth) => [line(texts, rows[nth]!), ...below(texts)])].join('\n');
}

/** What follows a table that was printed before. */
export function withoutHeader(table: string): string {
  return table.slice(table.indexOf('\n') + 1);
}

/** Of the terminal that standard output is; null: it is none. */
export function terminalWidth(): number | null {
  return sizeOf(process.stdout)?.columns ?? null;
}

/** Plain unless standard output is a terminal and NO_COLOR is not set. */
export function paint(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

function lineWidth(widths: readonly number[]): number {
  return widths.reduce((sum, one) => sum + one, 0) + GAP.length * (widths.length - 1);
}

/** At least one, however narrow. */
function countBeside(widths: readonly number[], width: number): number {
  const first = widths.findIndex((_, i) => lineWidth(widths.slice(0, i + 1)) > width);
  return first === -1 ? widths.length : Math.max(1, first);
}
