// The published figures: tables and pictures are what the results of a run say, and nothing goes missing unseen.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { drawLatencies, drawPeers } from '../../bench/publish/pictures.ts';
import { fillSections, peerSections, resultSections } from '../../bench/publish/sections.ts';
import { formatReport, type Figure, type Results } from '../../bench/report.ts';

const LATENCIES: Figure[] = ['100/s', '1,000/s', '4,000/s'].flatMap((rate, i) =>
  ['answer', 'arrival'].flatMap((moment, j) =>
    ['p50', 'p99', 'p99.9'].map((mark, k) => {
      return { name: `${rate}: ${moment} ${mark}`, value: 1 + i + j + 10 * k, unit: 'ms' };
    }),
  ),
);

function resultsOf(store: string, figures: Figure[], more: Partial<Results> = {}): Results {
  return {
    machine: '2 cores',
    store,
    scale: 1,
    date: '2026-11-22',
    reports: [
      { case: 'latency', figures: LATENCIES },
      { case: 'deliver', figures },
    ],
    ...more,
  };
}

const DELIVER: Figure[] = [
  { name: 'delivered', value: 12_345, unit: 'events/s' },
  { name: 'of the limit', value: 0.61, unit: '', spread: 0.1, aim: '≥ 0.65', met: false },
];
const RUNS = [resultsOf('sqlite', DELIVER), resultsOf('postgres', DELIVER)];

describe('sections', () => {
  test('the summary has a column for each store, and rows of those cases only that were run', () => {
    const { summary } = resultSections(RUNS);
    assert.match(summary!, /^\| \| Embedded store \| PostgreSQL \|$/m);
    assert.match(summary!, /^\| accepted, stored, delivered and recorded \| 12,345 events\/s \| 12,345 events\/s \|$/m);
    assert.doesNotMatch(summary!, /fan-out|100 destinations/);
  });

  test('figures that were taken beside other work are not published as results', () => {
    const unquiet = resultsOf('postgres', DELIVER);
    for (const report of unquiet.reports) report.unquiet = 'not quiet';
    const { summary, missed } = resultSections([RUNS[0]!, unquiet]);
    assert.match(summary!, /^\| accepted, stored, delivered and recorded \| 12,345 events\/s \| not quiet \|$/m);
    assert.match(missed!, /^Of 1 figures/);
  });

  test('a table has no column that says nothing', () => {
    assert.match(formatReport({ case: 'x', figures: [DELIVER[0]!] }), /^\| figure +\| value +\|$/m);
    assert.match(formatReport({ case: 'x', figures: DELIVER }), /^\| figure +\| value +\| spread \| aim +\| met \|$/m);
  });

  test('aims that were missed are named', () => {
    const { missed } = resultSections([RUNS[0]!]);
    assert.match(missed!, /^Of 1 figures that have an aim, 0 met it; these did not:/);
    assert.match(missed!, /^\| Embedded store \| deliver \| of the limit \| 0.61 \| ≥ 0.65 \|$/m);
  });

  test('a case that no longer prints a figure of the summary is found out', () => {
    assert.throws(() => resultSections([resultsOf('sqlite', [])]), /"deliver" has no figure "delivered"/);
  });

  test('a run that was made smaller says that it means nothing', () => {
    assert.match(
      resultSections([resultsOf('sqlite', DELIVER, { scale: 0.05 })])['run']!,
      /20 times smaller: no figures/,
    );
  });

  test('a page is filled between its marks, and again', () => {
    const page = 'before\n<!-- peers -->\nold\n<!-- /peers -->\nafter\n';
    const filled = fillSections(page, { peers: '| new |' });
    assert.equal(filled, 'before\n<!-- peers -->\n\n| new |\n\n<!-- /peers -->\nafter\n');
    assert.equal(fillSections(filled, { peers: '| new |' }), filled);
  });

  test('a mark that nobody fills is refused', () => {
    assert.throws(() => fillSections('<!-- peer -->\n<!-- /peer -->\n', peerSections()), /"peer"/);
  });
});

describe('pictures', () => {
  test('both are drawn for light and dark, with every name and value of what they show', () => {
    const [peers, latencies] = [drawPeers(), drawLatencies(RUNS)];
    for (const picture of [peers, latencies]) {
      assert.match(picture, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
      assert.match(picture, /prefers-color-scheme: dark/);
      assert.doesNotMatch(picture, /NaN|undefined/);
    }
    for (const words of ['Outpost 1.2.0', '15,160', '553 µs', '11-13 ms']) assert.ok(peers.includes(words), words);
    for (const words of ['Embedded store', 'PostgreSQL', '4,000/s: arrival'])
      assert.ok(latencies.includes(words), words);
  });

  test('a longer wait is drawn further to the right', () => {
    const slower = LATENCIES.map((figure) => ({ ...figure, value: figure.value * 3 }));
    const widest = (figures: Figure[]): number => {
      const run = resultsOf('sqlite', DELIVER, { reports: [{ case: 'latency', figures }] });
      const ends = [...drawLatencies([run]).matchAll(/class="ours range" x1="[\d.]+" y1="[\d.]+" x2="([\d.]+)"/g)];
      return Math.max(...ends.slice(0, 12).map(([, x]) => Number(x)));
    };
    assert.ok(widest(slower) > widest(LATENCIES));
  });
});
