// One event's body, as all filters that may want it look at it: what a path with [*] selects is found once for all of
// them, however many there are (selection.ts).
import type { Filter, FilterTest } from './filter/filter.ts';
import { holdsForNone, satisfies, stepInto } from './filter/evaluate.ts';
import { EVERY, type FilterPath, type PathStep } from './filter/path.ts';
import { Selection } from './selection.ts';
import type { Work } from './matcher.ts';

/** A long array is searched by table, once a few conditions have asked for its elements. */
const LONG_ARRAY_MIN = 16;
/** Characters of an operand that cost a step. */
const CHARACTERS_PER_STEP = 32;

export class Inspection {
  readonly #body: unknown;
  readonly #work: Work;
  /** The members of those of the body's containers that a [*] was asked of. */
  #members: Map<object, Selection> | null = null;

  /** `body`: of parseBody. */
  constructor(body: unknown, work: Work) {
    this.#body = body;
    this.#work = work;
  }

  /** Whether the body passes a filter. Throws TooMuchWork. */
  accepts(filter: Filter): boolean {
    switch (filter.operator) {
      case '$and':
        return filter.parts.every((part) => this.accepts(part));
      case '$or':
        return filter.parts.some((part) => this.accepts(part));
      case '$not':
        return !this.accepts(filter.part);
      default:
        return this.holds(filter);
    }
  }

  /** What a path without [*] selects; undefined: nothing. */
  valueAt({ steps }: FilterPath): unknown {
    this.#work.spend(steps.length + 1);
    return this.#walk(steps, steps.length);
  }

  /** What a path with [*] selects. */
  select({ steps }: FilterPath): Selection {
    this.#work.spend(steps.length);
    const first = steps.indexOf(EVERY);
    let selection = this.#membersOf(this.#walk(steps, first));
    for (let i = first + 1; i < steps.length; i++) selection = selection.select(steps[i]!);
    return selection;
  }

  /** Whether one test of a filter holds. Throws TooMuchWork. */
  holds(test: FilterTest): boolean {
    const { path, operand } = test;
    const { steps } = path;
    this.#work.spend(typeof operand === 'string' ? steps.length + operand.length / CHARACTERS_PER_STEP : steps.length);
    if (!path.singular) return this.select(path).holds(test);
    const value = this.#walk(steps, steps.length);
    if (value === undefined) return holdsForNone(test);
    if (test.operator === '$contains' && Array.isArray(value) && value.length >= LONG_ARRAY_MIN) {
      return this.#membersOf(value).hasEqual(test.operand);
    }
    return satisfies(value, test, this.#work);
  }

  #walk(steps: readonly PathStep[], end: number): unknown {
    let value = this.#body;
    for (let i = 0; i < end && value !== undefined; i++) value = stepInto(value, steps[i] as string | number);
    return value;
  }

  #membersOf(container: unknown): Selection {
    if (typeof container !== 'object' || container === null) return Selection.none;
    this.#members ??= new Map();
    let members = this.#members.get(container);
    if (members === undefined) {
      members = Selection.ofMembers(container, this.#work);
      this.#members.set(container, members);
    }
    return members;
  }
}
