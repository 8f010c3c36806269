// The results of runs, as `--json` wrote them, and where a figure is in them.
import { readFileSync } from 'node:fs';
import type { Figure, Report, Results } from '../report.ts';

export function readResults(file: string): Results {
  return JSON.parse(readFileSync(file, 'utf8')) as Results;
}

export function storeName({ store }: Results): string {
  return store === 'sqlite' ? 'Embedded store' : 'PostgreSQL';
}

/** Null: the run was without it. */
export function findReport({ reports }: Results, name: string): Report | null {
  return reports.find((report) => report.case === name) ?? null;
}

/** One that must be there: a case that no longer prints it has to be found out here. */
export function findFigure(results: Results, caseName: string, name: string): Figure {
  const figure = findReport(results, caseName)?.figures.find((one) => one.name === name);
  if (figure === undefined) throw new Error(`${results.store}: the case "${caseName}" has no figure "${name}"`);
  return figure;
}
