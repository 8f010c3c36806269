// Answers tests about a long list of values without looking at each: equality by count, order by the extremes, the
// ends of strings by sorted lists. Each table is made when first asked for.
import { canonicalText } from '../json/canonical.ts';
import { compareByCodePoint, containsText, isJsonObject } from './filter/compare.ts';
import { satisfies } from './filter/evaluate.ts';
import type { FilterTest } from './filter/filter.ts';
import { FILTER_BYTES_MAX, isScalar, type Literal, type Scalar } from './filter/json.ts';
import { WideNumber } from '../json/wide-number.ts';
import type { Work } from './matcher.ts';

const COUNTING_STEPS = 8;
const SORTING_STEPS = 40;
const CHARACTERS_PER_STEP = 8;
const WRITING_STEPS = 30;
/** Between strings that are searched as one; no part may have it. */
const SEPARATOR = '\u0000';

type Counts = { scalars: Map<Scalar, number>; compounds: readonly unknown[] };
type Extremes = {
  numbers: [least: number, greatest: number] | null;
  strings: [least: string, greatest: string] | null;
};

export class ValueTables {
  readonly #values: readonly unknown[];
  readonly #work: Work;
  #counts: Counts | null = null;
  /** By canonical text. */
  #compoundCounts: Map<string, number> | null = null;
  #extremes: Extremes | null = null;
  #texts: readonly string[] | null = null;
  #ascending: readonly string[] | null = null;
  #reversed: readonly string[] | null = null;
  #joined: string | null = null;
  #elements: ValueTables | null = null;

  /** At least one value. */
  constructor(values: readonly unknown[], work: Work) {
    this.#values = values;
    this.#work = work;
  }

  /** Whether one of the values satisfies a test. */
  holds(test: FilterTest): boolean {
    this.#work.spend(1);
    switch (test.operator) {
      case '$eq':
        return this.countEqual(test.operand) > 0;
      case '$ne':
        return this.countEqual(test.operand) < this.#values.length;
      case '$in':
        return this.#countAmong(test.operand) > 0;
      case '$nin':
        return this.#countAmong(test.operand) < this.#values.length;
      case '$startsWith':
        return hasPrefix((this.#ascending ??= this.#sort((text) => text)), test.operand);
      case '$endsWith':
        return hasPrefix((this.#reversed ??= this.#sort(reverse)), reverse(test.operand));
      case '$contains':
        return this.#contains(test.operand);
      case '$exists':
        return test.operand;
      default:
        return this.#extremesFor(test.operand).some((value) => satisfies(value, test, this.#work));
    }
  }

  /** How many of the values equal a literal. */
  countEqual(literal: Literal): number {
    if (isScalar(literal)) return this.#count().scalars.get(literal) ?? 0;
    this.#compoundCounts ??= this.#countCompounds();
    if (this.#compoundCounts.size === 0) return 0;
    const text = canonicalText(literal);
    this.#work.spend(text.length);
    return this.#compoundCounts.get(text) ?? 0;
  }

  scalars(): Iterable<Scalar> {
    return this.#count().scalars.keys();
  }

  #countAmong(operands: ReadonlySet<Scalar>): number {
    const { scalars } = this.#count();
    this.#work.spend(operands.size);
    return [...operands].reduce<number>((sum, operand) => sum + (scalars.get(operand) ?? 0), 0);
  }

  #count(): Counts {
    if (this.#counts !== null) return this.#counts;
    this.#work.spend(this.#values.length * COUNTING_STEPS);
    const scalars = new Map<Scalar, number>();
    const compounds: unknown[] = [];
    for (const value of this.#values) {
      if (isScalar(value)) scalars.set(value, (scalars.get(value) ?? 0) + 1);
      else compounds.push(value);
    }
    this.#counts = { scalars, compounds };
    return this.#counts;
  }

  #countCompounds(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const value of this.#count().compounds) {
      if (measure(value, 0, this.#work) > FILTER_BYTES_MAX) continue;
      const text = canonicalText(value);
      counts.set(text, (counts.get(text) ?? 0) + 1);
    }
    return counts;
  }

  /** If any value of the operand's kind is beyond the operand, the least or the greatest is. */
  #extremesFor(operand: number | string): readonly (number | string)[] {
    this.#extremes ??= this.#findExtremes();
    return (typeof operand === 'string' ? this.#extremes.strings : this.#extremes.numbers) ?? [];
  }

  #findExtremes(): Extremes {
    const { scalars, compounds } = this.#count();
    this.#work.spend(this.#values.length);
    const extremes: Extremes = { numbers: null, strings: null };
    const take = (number: number): void => {
      const [least, greatest] = (extremes.numbers ??= [number, number]);
      extremes.numbers = [Math.min(least, number), Math.max(greatest, number)];
    };
    for (const value of scalars.keys()) {
      if (typeof value === 'number') take(value);
      if (typeof value !== 'string') continue;
      const [least, greatest] = (extremes.strings ??= [value, value]);
      if (compareByCodePoint(value, least) < 0) extremes.strings = [value, greatest];
      else if (compareByCodePoint(value, greatest) > 0) extremes.strings = [least, value];
    }
    for (const value of compounds) if (value instanceof WideNumber) take(value.value);
    return extremes;
  }

  /** Each text once. */
  #strings(): readonly string[] {
    if (this.#texts !== null) return this.#texts;
    const { scalars } = this.#count();
    this.#work.spend(scalars.size);
    this.#texts = [...scalars.keys()].filter((value) => typeof value === 'string');
    return this.#texts;
  }

  #sort(rewrite: (text: string) => string): string[] {
    const strings = this.#strings();
    for (const { length } of strings) this.#work.spend(SORTING_STEPS + length / CHARACTERS_PER_STEP);
    return strings.map(rewrite).sort();
  }

  #contains(literal: Literal): boolean {
    this.#elements ??= new ValueTables(this.#count().compounds.filter(Array.isArray).flat(), this.#work);
    if (this.#elements.countEqual(literal) > 0) return true;
    if (typeof literal !== 'string') return false;
    // The empty text is in what was joined even of no strings.
    if (literal === '' || literal.includes(SEPARATOR)) {
      return this.#strings().some((text) => containsText(text, literal, this.#work));
    }
    this.#joined ??= this.#strings().join(SEPARATOR);
    return containsText(this.#joined, literal, this.#work);
  }
}

/** The bytes that a value's JSON has at least, or some number above FILTER_BYTES_MAX: then no filter can name it. */
function measure(value: unknown, before: number, work: Work): number {
  work.spend(WRITING_STEPS);
  if (typeof value === 'string') return before + value.length;
  let bytes = before + 1;
  if (typeof value !== 'object' || value === null) return bytes;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && bytes <= FILTER_BYTES_MAX; i++) bytes = measure(value[i], bytes + 1, work);
  } else if (isJsonObject(value)) {
    const keys = Object.keys(value);
    for (let i = 0; i < keys.length && bytes <= FILTER_BYTES_MAX; i++) {
      bytes = measure(value[keys[i]!], bytes + keys[i]!.length, work);
    }
  }
  return bytes;
}

/** Whether one of ascending strings begins with a prefix: the first that is not before it does, or none. */
function hasPrefix(ascending: readonly string[], prefix: string): boolean {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ascending[middle]! < prefix) low = middle + 1;
    else high = middle;
  }
  return ascending[low]?.startsWith(prefix) ?? false;
}

/** By code unit: halves of a pair change places, in texts and operands alike. */
function reverse(text: string): string {
  let reversed = '';
  for (let i = text.length - 1; i >= 0; i--) reversed += text[i];
  return reversed;
}
