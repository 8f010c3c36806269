// Why subscriptions want an event or do not: every condition of their filters, with what it found and whether it holds,
// as the inspection that matching asks says. Written as the JSON of the answer on the thread where it is found out, for
// a thousand subscriptions may have fifty thousand conditions.
import { canonicalText } from '../json/canonical.ts';
import { WideNumber } from '../json/wide-number.ts';
import { isJsonObject } from './filter/compare.ts';
import type { Filter, FilterTest } from './filter/filter.ts';
import { isScalar } from './filter/json.ts';
import { writePath } from './filter/path.ts';
import type { Inspection } from './inspection.ts';
import type { MatchEntry, Work } from './matcher.ts';

/** A subscription that an explanation is about. */
export type Candidate = {
  entry: MatchEntry;
  patternMatches: boolean;
  /** The event is about the subscription's own destination, and does not go there. */
  isWithheld: boolean;
};

/** Subscriptions in one answer; fewer where they come to more bytes. */
export const EXPLAINED_MAX = 1_000;
const ANSWER_LENGTH_MAX = 2 * 1024 * 1024;
/** Characters of JSON of one value that is shown whole. */
const FOUND_LENGTH_MAX = 256;
const WRITTEN_PER_STEP = 4;

/** The JSON of an answer to `POST /v1/explain`. Throws TooMuchWork. */
export function writeExplanation(candidates: readonly Candidate[], inspection: Inspection, work: Work): string {
  const writer = new Writer(inspection, work);
  const texts: string[] = [];
  let length = 0;
  for (const candidate of candidates) {
    const text = writer.write(candidate);
    length += text.length;
    if (length > ANSWER_LENGTH_MAX) break;
    texts.push(text);
  }
  return `{"subscriptions":[${texts.join(',')}]}`;
}

class Writer {
  readonly #inspection: Inspection;
  readonly #work: Work;
  /** What is shown of those containers of the body that were asked for: many conditions look at the same. */
  readonly #shown = new Map<object, string>();

  constructor(inspection: Inspection, work: Work) {
    this.#inspection = inspection;
    this.#work = work;
  }

  write({ entry, patternMatches, isWithheld }: Candidate): string {
    const { id, destinationId, filter } = entry;
    const isAccepted = filter === null || this.#inspection.accepts(filter);
    const matches = patternMatches && isAccepted && !isWithheld;
    const conditions = filter === null ? [] : listTests(filter).map((test) => this.#writeTest(test));
    const text =
      `{"subscription_id":"${id}","destination_id":"${destinationId}","matches":${matches},` +
      `"pattern_matches":${patternMatches},"filter":[${conditions.join(',')}]}`;
    this.#work.spend(text.length / WRITTEN_PER_STEP);
    return text;
  }

  #writeTest(test: FilterTest): string {
    const path = JSON.stringify(writePath(test.path));
    const { operator, operand } = test;
    const expected = operand instanceof Set ? canonicalText([...operand]) : canonicalText(operand);
    const holds = this.#inspection.holds(test);
    const found = this.#find(test);
    return `{"path":${path},"operator":"${operator}","expected":${expected},"found":${found},"holds":${holds}}`;
  }

  /** The value at a path, or with [*] the array of all values. Null: nothing. */
  #find({ path }: FilterTest): string {
    const value = path.singular ? this.#inspection.valueAt(path) : this.#inspection.select(path).values;
    if (typeof value !== 'object' || value === null) return showValue(value ?? null, this.#work);
    return this.#shown.getOrInsertComputed(value, () => showValue(value, this.#work));
  }
}

/** In the order of the filter. */
function listTests(filter: Filter): FilterTest[] {
  switch (filter.operator) {
    case '$and':
    case '$or':
      return filter.parts.flatMap(listTests);
    case '$not':
      return listTests(filter.part);
    default:
      return [filter];
  }
}

/** JSON of a body's value; of a long one its beginning, as a string that ends in `…`. */
function showValue(value: unknown, work: Work): string {
  const text = beginJson(value, FOUND_LENGTH_MAX + 1, work);
  return text.length <= FOUND_LENGTH_MAX ? text : JSON.stringify(`${text.slice(0, FOUND_LENGTH_MAX)}…`);
}

/** The JSON of a value, all of it if that is shorter than `lengthMax`; else at least so much of it. */
function beginJson(value: unknown, lengthMax: number, work: Work): string {
  work.spend(1);
  if (typeof value === 'string') return JSON.stringify(value.slice(0, lengthMax));
  if (value instanceof WideNumber) return value.text.slice(0, lengthMax);
  if (isScalar(value)) return JSON.stringify(value);
  const isArray = Array.isArray(value);
  const object = isJsonObject(value) ? value : {};
  const keys = isArray ? [] : Object.keys(object);
  const length = isArray ? value.length : keys.length;
  work.spend(keys.length);
  let text = isArray ? '[' : '{';
  for (let i = 0; i < length && text.length < lengthMax; i++) {
    if (i > 0) text += ',';
    if (!isArray) text += `${JSON.stringify(keys[i]!.slice(0, lengthMax))}:`;
    text += beginJson(isArray ? value[i] : object[keys[i]!], lengthMax - text.length, work);
  }
  return text + (isArray ? ']' : '}');
}
