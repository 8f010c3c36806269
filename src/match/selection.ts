// The values that a path with [*] selects in one body, and the selections of longer paths that begin with it: a tree
// of paths that grows as filters ask. Values are listed once for all paths, members of many objects sorted by name in
// one pass, and tests are answered by tables once a few were answered by looking at every value.
import { isEqual, isJsonObject, listMembers } from './filter/compare.ts';
import { holdsForNone, satisfies, stepInto } from './filter/evaluate.ts';
import type { FilterTest } from './filter/filter.ts';
import { isScalar, type Literal, type Scalar } from './filter/json.ts';
import { EVERY, type PathStep } from './filter/path.ts';
import { ValueTables } from './value-tables.ts';
import { Work } from './matcher.ts';

/** Tables are made when looking has cost about as much: so many looks at every value, or at what is in them. */
const LOOKS_BEFORE_TABLES = 12;
/** A list so short has no tables. */
const UNTABLED_MAX = 16;
/** So many steps were looked up one by one, among so many values in all, before all members are sorted. */
const LOOK_UPS_BEFORE_SORTING = 8;
const LOOKED_UP_BEFORE_SORTING = 2_000;
const SORTING_STEPS = 8;

export class Selection {
  static readonly none = new Selection([], new Work(0));

  readonly #values: readonly unknown[];
  readonly #work: Work;
  #longer: Map<PathStep, Selection> | null = null;
  #sorted: Map<PathStep, unknown[]> | null = null;
  #tables: ValueTables | null = null;
  #lookSteps = 0;

  private constructor(values: readonly unknown[], work: Work) {
    this.#values = values;
    this.#work = work;
  }

  /** `[*]` of an array or an object. */
  static ofMembers(container: object, work: Work): Selection {
    return new Selection(membersOf(container, work), work);
  }

  /** The selection one step on. */
  select(step: PathStep): Selection {
    if (this.#values.length === 0) return this;
    this.#longer ??= new Map();
    let selection = this.#longer.get(step);
    if (selection === undefined) {
      selection = new Selection(this.#listAt(step), this.#work);
      this.#longer.set(step, selection);
    }
    return selection;
  }

  holds(test: FilterTest): boolean {
    if (this.#values.length === 0) return holdsForNone(test);
    if (test.operator === '$exists') return test.operand;
    return this.#look((value) => satisfies(value, test, this.#work)) ?? this.#tabled.holds(test);
  }

  get values(): readonly unknown[] {
    return this.#values;
  }

  /** Whether one of the values equals a literal. */
  hasEqual(literal: Literal): boolean {
    return this.#look((value) => isEqual(literal, value, this.#work)) ?? this.#tabled.countEqual(literal) > 0;
  }

  /** Each scalar once. */
  scalars(): Iterable<Scalar> {
    if (this.#values.length > UNTABLED_MAX) return this.#tabled.scalars();
    const scalars = new Set<Scalar>();
    for (const value of this.#values) if (isScalar(value)) scalars.add(value);
    return scalars;
  }

  get #tabled(): ValueTables {
    return (this.#tables ??= new ValueTables(this.#values, this.#work));
  }

  /** Whether one of the values is wanted; null: ask the tables. */
  #look(isWanted: (value: unknown) => boolean): boolean | null {
    const { length } = this.#values;
    if (this.#lookSteps > LOOKS_BEFORE_TABLES * (length + UNTABLED_MAX)) return null;
    const before = this.#work.spent;
    this.#work.spend(length);
    const isFound = this.#values.some(isWanted);
    this.#lookSteps += this.#work.spent - before;
    return isFound;
  }

  #listAt(step: PathStep): readonly unknown[] {
    if (step === EVERY) return listEach(this.#values, this.#work);
    // Many names of many objects: all members are sorted by name in one pass instead of a pass for each name.
    const lookUps = this.#longer!.size;
    if (lookUps >= LOOK_UPS_BEFORE_SORTING && lookUps * this.#values.length >= LOOKED_UP_BEFORE_SORTING) {
      this.#sorted ??= sortMembers(this.#values, this.#work);
      return this.#sorted.get(step) ?? [];
    }
    this.#work.spend(this.#values.length * 2);
    const found: unknown[] = [];
    for (const value of this.#values) {
      const member = stepInto(value, step);
      if (member !== undefined) found.push(member);
    }
    return found;
  }
}

function listEach(containers: readonly unknown[], work: Work): readonly unknown[] {
  if (containers.length === 1) return membersOf(containers[0], work);
  const all = containers.flatMap((container) => membersOf(container, work));
  work.spend(containers.length + all.length);
  return all;
}

function membersOf(container: unknown, work: Work): readonly unknown[] {
  if (Array.isArray(container)) return container;
  return isJsonObject(container) ? listMembers(container, work) : [];
}

/** By name; elements of arrays by index, from the front and from the end. */
function sortMembers(containers: readonly unknown[], work: Work): Map<PathStep, unknown[]> {
  const sorted = new Map<PathStep, unknown[]>();
  const put = (step: PathStep, value: unknown): void => {
    work.spend(SORTING_STEPS);
    const values = sorted.get(step);
    if (values === undefined) sorted.set(step, [value]);
    else values.push(value);
  };
  for (const container of containers) {
    if (Array.isArray(container)) {
      for (const [index, element] of container.entries()) {
        put(index, element);
        put(index - container.length, element);
      }
    } else if (isJsonObject(container)) {
      for (const name of Object.keys(container)) put(name, container[name]);
    }
  }
  return sorted;
}
