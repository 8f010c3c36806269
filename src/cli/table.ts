// Rows under a header. On a terminal a row stays within its width: what does not fit beside the rest goes below.
import { fit, printable, widthOf } from './terminal.ts';

/** `widthMax`: what is longer is cut, but only where the terminal is too narrow for all of it. */
export type Column<Row> = { title: string; of: (row: Row) => string; widthMax?: number };

const GAP = '  ';

/** `width`: of the terminal; null: not one, so each row is one line, whole. */
export function formatTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[], width: number | null): string {
  const cells = rows.map((row) => columns.map((column) => printable(column.of(row))));
  const whole = columns.map(({ title }, i) => Math.max(title.length, ...cells.map((row) => widthOf(row[i]!))));
  const isWide = width === null || lineWidth(whole) <= width;
  const widths = isWide ? whole : whole.map((one, i) => Math.min(one, columns[i]!.widthMax ?? one));
  const beside = isWide ? columns.length : countBeside(widths, width);
  const line = (texts: readonly string[]): string =>
    texts
      .slice(0, beside)
      .map((text, i) => fit(text, widths[i]!))
      .join(GAP)
      .trimEnd();
  const below = (texts: readonly string[]): string[] =>
    joinWithin(
      texts.slice(beside).map((text, i) => `${columns[beside + i]!.title} ${text}`),
      (width ?? 0) - GAP.length,
    ).map((one) => GAP + one);
  return [line(columns.map(({ title }) => title)), ...cells.flatMap((row) => [line(row), ...below(row)])].join('\n');
}

function lineWidth(widths: readonly number[]): number {
  return widths.reduce((sum, one) => sum + one, 0) + GAP.length * (widths.length - 1);
}

/** At least one, however narrow. */
function countBeside(widths: readonly number[], width: number): number {
  const first = widths.findIndex((_, i) => lineWidth(widths.slice(0, i + 1)) > width);
  return first === -1 ? widths.length : Math.max(1, first);
}

/** As few lines as there is room for; a text that is longer than a line has one of its own. */
function joinWithin(texts: readonly string[], columns: number): string[] {
  const lines: string[] = [];
  for (const text of texts) {
    const longer = `${lines.at(-1)}${GAP}${text}`;
    if (lines.length > 0 && widthOf(longer) <= columns) lines[lines.length - 1] = longer;
    else lines.push(text);
  }
  return lines;
}
