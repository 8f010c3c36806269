// node bench/publish.ts RESULTS.json…: writes the figures of a run, one file for each store, into docs/benchmarks.md
// and README.md, between the marks that name them, and draws docs/pictures/bench-*.svg. None is copied by hand.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { drawLatencies, drawPeers } from './publish/pictures.ts';
import { findReport, readResults } from './publish/results.ts';
import { fillSections, peerSections, resultSections } from './publish/sections.ts';
import type { Report } from './report.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

function main(files: readonly string[]): void {
  if (files.length === 0) {
    console.error('node bench/publish.ts RESULTS.json…: the files of npm run bench -- --json, one for each store');
    process.exit(2);
  }
  const runs = files.map(readResults);
  const sections = { ...peerSections(), ...resultSections(runs) };
  for (const page of ['README.md', 'docs/benchmarks.md']) {
    const path = join(ROOT, page);
    writeFileSync(path, fillSections(readFileSync(path, 'utf8'), sections));
  }
  const pictures = join(ROOT, 'docs/pictures');
  writeFileSync(join(pictures, 'bench-peers.svg'), drawPeers());
  const withLatency = runs.filter((run) => isSound(findReport(run, 'latency')));
  if (withLatency.length > 0) writeFileSync(join(pictures, 'bench-latency.svg'), drawLatencies(withLatency));
}

function isSound(report: Report | null): boolean {
  return report !== null && report.unquiet === undefined;
}

main(process.argv.slice(2));
