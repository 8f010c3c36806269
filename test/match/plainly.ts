// What patterns and filters mean, written plainly: it looks at the body anew for every condition. The oracle for the
// matchers of src/match, which answer for many subscriptions at once.
import { isJsonObject } from '../../src/match/filter/compare.ts';
import { holdsForNone, satisfies, stepInto } from '../../src/match/filter/evaluate.ts';
import type { Filter, FilterTest } from '../../src/match/filter/filter.ts';
import { EVERY, type FilterPath, type PathStep } from '../../src/match/filter/path.ts';
import { unlimitedWork } from './unlimited-work.ts';

/** Whether one pattern matches one event type; both well-formed. */
export function patternMatches(pattern: string, type: string): boolean {
  if (pattern === '**') return !type.startsWith('postrider.');
  if (pattern.endsWith('.**')) return type.startsWith(pattern.slice(0, -2));
  if (!pattern.endsWith('.*')) return type === pattern;
  const prefix = pattern.slice(0, -1);
  return type.startsWith(prefix) && !type.includes('.', prefix.length);
}

const UNLIMITED = unlimitedWork();

/** Whether a body (of parseBody) passes a filter. Never throws. */
export function filterAccepts(filter: Filter, body: unknown): boolean {
  switch (filter.operator) {
    case '$and':
      return filter.parts.every((part) => filterAccepts(part, body));
    case '$or':
      return filter.parts.some((part) => filterAccepts(part, body));
    case '$not':
      return !filterAccepts(filter.part, body);
    default:
      return holds(filter, body);
  }
}

function holds(test: FilterTest, body: unknown): boolean {
  const values = selectValues(test.path, body);
  if (test.operator === '$exists') return values.length > 0 === test.operand;
  return values.length === 0 ? holdsForNone(test) : values.some((value) => satisfies(value, test, UNLIMITED));
}

/** The values that a path selects in a body, in order. */
export function selectValues(path: FilterPath, body: unknown): unknown[] {
  return path.steps.reduce((values, step) => values.flatMap((value) => selectOne(value, step)), [body]);
}

function selectOne(value: unknown, step: PathStep): readonly unknown[] {
  if (step === EVERY) return Array.isArray(value) ? value : isJsonObject(value) ? Object.values(value) : [];
  const member = stepInto(value, step);
  return member === undefined ? [] : [member];
}
