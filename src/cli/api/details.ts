// One thing with everything that is known of it: a name and a value a line, within the terminal's width.
import { breakAnywhere, COLUMNS, printable, widthOf } from '../terminal.ts';
import { paintState } from './cells.ts';

const GAP = '  ';
/** With less room beside the names, what is longer goes below its own. */
const BESIDE_MIN = 30;
const LINES_MAX = 200;

/** Values that are objects are shown as JSON; null as "-". */
export function formatDetails(thing: object, width: number | null): string {
  const entries = Object.entries(thing);
  const widest = Math.max(...entries.map(([name]) => name.length));
  const columns = (width ?? COLUMNS) - widest - GAP.length;
  return entries
    .flatMap(([name, value]) => {
      const text = printable(textOf(value));
      if (width !== null && columns < BESIDE_MIN && widthOf(text) > columns) {
        return [name, ...wrap(text, width - GAP.length).map((line) => GAP + line)];
      }
      // A pipe gets each value on one line.
      const lines = width === null ? [text] : wrap(text, columns);
      return lines.map((line, i) => `${(i === 0 ? name : '').padEnd(widest)}${GAP}${paintState(line)}`.trimEnd());
    })
    .join('\n');
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '-';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function wrap(text: string, columns: number): string[] {
  const { lines, taken } = breakAnywhere(text, { columns, linesMax: LINES_MAX });
  return taken < text.length ? [...lines, `… ${text.length - taken} characters more; --json has all`] : lines;
}
