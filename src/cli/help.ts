// What --help prints, within 80 columns.
import { flagsOf, type Command, type CommandEntry, type Flag, type GroupEntry } from './command.ts';
import { SECTIONS } from './commands.ts';
import { breakAtSpaces, COLUMNS, widthOf } from './terminal.ts';

const INDENT = '  ';
const SETTINGS_NOTE =
  'A flag that is a setting of the service can also stand in the environment (--data-dir as POSTRIDER_DATA_DIR) or ' +
  'in the settings file; docs/reference/settings.md has them all.';

export async function programHelp(): Promise<string> {
  const sections = await Promise.all(
    SECTIONS.map(async ({ title, entries }) => ({ title, rows: await Promise.all(entries.map(summaryRow)) })),
  );
  // One width for all sections.
  const width = widthOfLeft(sections.flatMap(({ rows }) => rows));
  return [
    ...paragraph(
      'Postrider: webhook delivery. Accepts events, matches them to subscriptions, delivers them signed and retried.',
    ),
    '',
    'Usage: postrider COMMAND [flags]',
    ...sections.flatMap(({ title, rows }) => ['', `${title}:`, ...twoColumns(rows, width)]),
    '',
    'postrider COMMAND --help tells more of a command.',
  ].join('\n');
}

export async function groupHelp({ name, summary, commands }: GroupEntry): Promise<string> {
  return [
    `${summary}.`,
    '',
    `Usage: postrider ${name} COMMAND [flags]`,
    '',
    ...twoColumns(await Promise.all(commands.map(summaryRow))),
    '',
    `postrider ${name} COMMAND --help tells more of a command.`,
  ].join('\n');
}

async function summaryRow(entry: CommandEntry | GroupEntry): Promise<Row> {
  return [entry.name, ['load' in entry ? (await entry.load()).summary : entry.summary]];
}

export function commandHelp(command: Command): string {
  const flags = Object.entries(flagsOf(command));
  return [
    ...paragraph(`${command.summary}.`),
    '',
    ...command.usage.map((usage, i) => `${i === 0 ? 'Usage: ' : '       '}postrider ${usage}`),
    '',
    ...twoColumns(flags.map(([name, flag]) => [nameOf(name, flag), meaningOf(flag)])),
    ...(command.settings !== undefined ? ['', ...paragraph(SETTINGS_NOTE)] : []),
    '',
    command.examples.length === 1 ? 'Example:' : 'Examples:',
    ...command.examples.map((example) => `${INDENT}postrider ${example}`),
  ].join('\n');
}

function nameOf(name: string, { type, value = 'VALUE' }: Flag): string {
  return type === 'string' ? `--${name} ${value}` : `--${name}`;
}

function meaningOf({ meaning, unit = '', value, options, default: fallback = '' }: Flag): string[] {
  // That a TEXT is text need not be said.
  const range = options !== undefined ? options.join(', ') : unit.toUpperCase() === value ? '' : unit;
  const facts = [range, fallback === '' ? '' : `default ${fallback}`].filter((fact) => fact !== '');
  return facts.length === 0 ? [meaning] : [meaning, `[${facts.join('; ')}]`];
}

/** Each part of the right column stays together where a line has room for it. */
type Row = [left: string, right: string[]];

function widthOfLeft(rows: readonly Row[]): number {
  return Math.max(...rows.map(([left]) => widthOf(left)));
}

function twoColumns(rows: readonly Row[], width = widthOfLeft(rows)): string[] {
  const columns = COLUMNS - width - 2 * INDENT.length;
  return rows.flatMap(([left, right]) => {
    const lines: string[] = [];
    for (const part of right) {
      const last = lines.at(-1);
      if (last !== undefined && widthOf(`${last} ${part}`) <= columns) lines[lines.length - 1] = `${last} ${part}`;
      else lines.push(...breakAtSpaces(part, columns));
    }
    return lines.map((line, i) => `${INDENT}${(i === 0 ? left : '').padEnd(width)}${INDENT}${line}`);
  });
}

function paragraph(text: string): string[] {
  return breakAtSpaces(text, COLUMNS);
}
