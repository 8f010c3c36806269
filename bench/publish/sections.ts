// What is written into the pages: tables by name, each between <!-- NAME --> and <!-- /NAME -->.
import { format, formatFigures, type Figure, type Report, type Results } from '../report.ts';
import { PEERS, PEERS_BESIDE_HANGING, type PeerBesideHanging } from './peers.ts';
import { tellCpu, tellRange } from './pictures.ts';
import { findFigure, findReport, storeName } from './results.ts';

export type Sections = Record<string, string>;

/** Every mark of the page must be known: a table that nobody writes would grow old unseen. */
export function fillSections(page: string, sections: Sections): string {
  return page.replace(/(<!-- ([\w-]+) -->\n)[^]*?(<!-- \/\2 -->)/g, (_, start: string, name: string, end: string) => {
    const section = sections[name];
    if (section === undefined) throw new Error(`the page has a mark for "${name}", and nothing is called that`);
    return `${start}\n${section}\n\n${end}`;
  });
}

export function peerSections(): Sections {
  const rows = PEERS.map((peer) => `| ${peer.name} | ${tellRange(peer.delivered)} | ${tellCpu(peer)} |`);
  return {
    peers: ['| | delivered a second | CPU of a delivery |', '| --- | --: | --: |', ...rows].join('\n'),
    'peers-hanging': [
      '| | alone p50 / p99 | beside the hanging one p50 / p99 | not there 10 s after the end, of 2,000 |',
      '| --- | --: | --: | --: |',
      ...PEERS_BESIDE_HANGING.map(tellBesideHanging),
    ].join('\n'),
  };
}

function tellBesideHanging({ name, alone, beside, missing }: PeerBesideHanging): string {
  return `| ${name} | ${tellPair(alone)} | ${tellPair(beside)} | ${format(missing)} |`;
}

function tellPair(pair: readonly [number, number]): string {
  const [unit, factor] = pair[1] < 1_000 ? ['ms', 1] : ['s', 1_000];
  return `${pair.map((ms) => format(ms / factor)).join(' / ')} ${unit}`;
}

export function resultSections(runs: readonly Results[]): Sections {
  return {
    run: runs.map(tellRun).join('\n'),
    summary: summarise(runs),
    missed: tellMissed(runs),
    profile: tellAll(runs, (report) => report.case === 'profile'),
    results: tellAll(runs, (report) => report.case !== 'profile'),
  };
}

function tellRun(run: Results): string {
  const scaled = run.scale === 1 ? '' : ` **Everything was made ${format(1 / run.scale)} times smaller: no figures.**`;
  return `- ${storeName(run)}: ${run.date}, ${run.machine}.${scaled}`;
}

/** What a reader wants to know first: the figure, and what it is called where nobody knows the case. */
const SUMMARY: readonly { case: string; figure: string; words: string }[] = [
  { case: 'deliver', figure: 'delivered', words: 'accepted, stored, delivered and recorded' },
  { case: 'deliver', figure: 'of the limit', words: 'of what a program does that only forwards' },
  { case: 'fanout', figure: 'delivered', words: 'one event to 100 destinations' },
  { case: 'batch', figure: 'accepted', words: 'accepted in batches of 100' },
  { case: 'latency', figure: '1,000/s: answer p99', words: 'answer at 1,000 events a second, p99' },
  { case: 'latency', figure: '1,000/s: arrival p99', words: 'arrival at 1,000 events a second, p99' },
  {
    case: 'isolation: one beside 100 that hang',
    figure: 'arrival p99 alone',
    words: 'arrival at one destination, p99',
  },
  {
    case: 'isolation: one beside 100 that hang',
    figure: 'arrival p99 beside them',
    words: 'the same beside 100 that never answer',
  },
  { case: 'hung', figure: 'all that waited are out after', words: 'out after a hang of 50 s, with 4,000 waiting' },
  {
    case: 'growth',
    figure: 'delivered by the largest, of the smallest',
    words: 'a store of 10,000,000 against one of 10,000',
  },
  { case: 'restart', figure: 'serving after', words: 'serves again after `kill -9` with 100,000 unfinished' },
];

/** Rows that no run has are left out. */
function summarise(runs: readonly Results[]): string {
  const rows = SUMMARY.flatMap(({ case: name, figure, words }) => {
    const cells = runs.map((run) => tellIfMeasured(run, name, figure));
    return cells.every((cell) => cell === '') ? [] : [`| ${words} | ${cells.join(' | ')} |`];
  });
  const head = `| | ${runs.map(storeName).join(' | ')} |`;
  return [head, `| --- |${' --: |'.repeat(runs.length)}`, ...rows].join('\n');
}

function tellIfMeasured(run: Results, caseName: string, figure: string): string {
  const report = findReport(run, caseName);
  if (report === null) return '';
  return report.unquiet === undefined ? tellValue(findFigure(run, caseName, figure)) : 'not quiet';
}

function tellValue({ value, unit }: Figure): string {
  return unit === '' ? format(value) : `${format(value)} ${unit}`;
}

function tellMissed(runs: readonly Results[]): string {
  const judged = runs.flatMap((run) =>
    run.reports.flatMap((report) =>
      report.figures
        .filter(({ met }) => met !== undefined && report.unquiet === undefined)
        .map((figure) => ({ run, report, figure })),
    ),
  );
  const missed = judged.filter(({ figure }) => figure.met === false);
  const rows = missed.map(({ run, report, figure }) => {
    return `| ${storeName(run)} | ${report.case} | ${figure.name} | ${tellValue(figure)} | ${figure.aim} |`;
  });
  const met = judged.length - missed.length;
  const sum = `Of ${judged.length} figures that have an aim, ${met} met it`;
  if (rows.length === 0) return `${sum}.`;
  return [
    `${sum}; these did not:`,
    '',
    '| store | case | figure | value | aim |',
    '| --- | --- | --- | --: | --: |',
    ...rows,
  ].join('\n');
}

/** The reports of each run under a heading of its own. */
function tellAll(runs: readonly Results[], isWanted: (report: Report) => boolean): string {
  const parts = runs.flatMap((run) => {
    const reports = run.reports.filter(isWanted);
    if (reports.length === 0) return [];
    return [`### ${storeName(run)}`, ...reports.map((report) => `#### ${report.case}\n\n${formatFigures(report)}`)];
  });
  return parts.join('\n\n');
}
