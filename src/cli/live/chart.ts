// A bar chart of characters: a column for each step, the oldest left.

const BARS = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/** Lines without an axis, `columns` wide at most: what has no room beside each other is added up. */
export function barChart(values: readonly number[], size: { columns: number; rows: number }): string[] {
  const { rows } = size;
  const shown = squeeze(values, size.columns);
  const width = Math.max(1, Math.floor(size.columns / Math.max(1, shown.length)));
  const peak = Math.max(1, ...shown);
  return Array.from({ length: rows }, (_, nth) => {
    const below = rows - 1 - nth;
    return shown.map((value) => barOf((value / peak) * rows - below, value > 0 && below === 0).repeat(width)).join('');
  });
}

/** What is more than nothing shows. */
function barOf(height: number, isFoot: boolean): string {
  const eighths = Math.round(Math.min(1, Math.max(0, height)) * 8);
  return BARS[isFoot ? Math.max(1, eighths) : eighths]!;
}

/** As many as there are columns: each the sum of those that follow each other. */
export function squeeze(values: readonly number[], columns: number): number[] {
  const together = Math.max(1, Math.ceil(values.length / columns));
  return Array.from({ length: Math.ceil(values.length / together) }, (_, nth) =>
    values.slice(nth * together, (nth + 1) * together).reduce((sum, one) => sum + one, 0),
  );
}
