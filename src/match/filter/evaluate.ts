// What a test means for one value of a body, or for none. inspection.ts asks it of every value that a path selects.
import { compareByCodePoint, containsText, isEqual, isJsonObject } from './compare.ts';
import type { FilterTest } from './filter.ts';
import { isScalar, type Literal } from './json.ts';
import { WideNumber } from '../../json/wide-number.ts';
import type { Work } from '../matcher.ts';

/** The member or element that a step selects; undefined, which no JSON value is: none. */
export function stepInto(value: unknown, step: string | number): unknown {
  if (typeof step === 'number') return Array.isArray(value) ? value.at(step) : undefined;
  return isJsonObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
}

/** Whether a test holds when its path selects nothing. */
export function holdsForNone(test: FilterTest): boolean {
  if (test.operator === '$exists') return !test.operand;
  return test.operator === '$ne' || test.operator === '$nin';
}

/** Whether one selected value makes a test hold; `$exists` is for holdsForNone to deny. */
export function satisfies(value: unknown, test: FilterTest, work: Work): boolean {
  switch (test.operator) {
    case '$eq':
      return isEqual(test.operand, value, work);
    case '$ne':
      return !isEqual(test.operand, value, work);
    case '$gt':
      return compare(value, test.operand) > 0;
    case '$gte':
      return compare(value, test.operand) >= 0;
    case '$lt':
      return compare(value, test.operand) < 0;
    case '$lte':
      return compare(value, test.operand) <= 0;
    case '$in':
      return isScalar(value) && test.operand.has(value);
    case '$nin':
      return !(isScalar(value) && test.operand.has(value));
    case '$exists':
      return test.operand;
    case '$startsWith':
      return typeof value === 'string' && value.startsWith(test.operand);
    case '$endsWith':
      return typeof value === 'string' && value.endsWith(test.operand);
    default:
      return contains(value, test.operand, work);
  }
}

/** NaN, for which every ordering operator is false, unless both are numbers or both are strings. */
function compare(value: unknown, operand: number | string): number {
  if (typeof operand === 'string') return typeof value === 'string' ? compareByCodePoint(value, operand) : NaN;
  const number = value instanceof WideNumber ? value.value : value;
  return typeof number === 'number' ? number - operand : NaN;
}

function contains(value: unknown, operand: Literal, work: Work): boolean {
  if (Array.isArray(value)) return value.some((element) => isEqual(operand, element, work));
  return typeof value === 'string' && typeof operand === 'string' && containsText(value, operand, work);
}
