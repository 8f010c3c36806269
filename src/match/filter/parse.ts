// Parses a filter: JSON text → a tree of tests, or the first fault and where it is.
//
//   filter    = { member, … }             all members must hold
//   member    = path : condition | "$and" : [filter, …] | "$or" : [filter, …] | "$not" : filter
//   condition = scalar (means $eq) | { operator : operand, … }      all operators must hold
import { fail, FilterError, pointInto, quote, type FilterFault } from './fault.ts';
import type { Filter, FilterTest } from './filter.ts';
import { isLiteralArray, isLiteralObject, isScalar, readFilterJson, type Literal, type Scalar } from './json.ts';
import { parsePath, type FilterPath } from './path.ts';

/** How deep filters may be nested by $and, $or and $not; the outermost counts. */
const FILTER_DEPTH_MAX = 5;
/** Members that are a path with its condition, in the whole filter. */
const FILTER_CONDITIONS_MAX = 50;
/** Of these, those whose path has [*]. */
const FILTER_WILDCARD_CONDITIONS_MAX = 5;
const LIST_VALUES_MAX = 100;

const OPERATORS = '$eq $ne $gt $gte $lt $lte $in $nin $exists $startsWith $endsWith $contains'.split(' ');

/** Where in the filter we are, and how many conditions it has so far. */
type Place = { pointer: string; depth: number; count: Count };

type Count = { conditions: number; wildcardConditions: number; wildcardConditionsMax: number };

/** The filter that a JSON text writes, or what is wrong with it. Never throws. */
export function parseFilter(text: string): Filter | FilterFault {
  return parse(text, FILTER_WILDCARD_CONDITIONS_MAX);
}

/** The same for a filter from the store, which may be older than the limit on conditions with [*]. */
export function parseStoredFilter(text: string): Filter | FilterFault {
  return parse(text, Number.POSITIVE_INFINITY);
}

function parse(text: string, wildcardConditionsMax: number): Filter | FilterFault {
  const count = { conditions: 0, wildcardConditions: 0, wildcardConditionsMax };
  try {
    return parseMembers(readFilterJson(text), { pointer: '', depth: 1, count });
  } catch (error) {
    if (error instanceof FilterError) return { pointer: error.pointer, message: error.message };
    throw error;
  }
}

export function isFilterFault(result: Filter | FilterFault): result is FilterFault {
  return 'pointer' in result;
}

function parseMembers(literal: Literal, place: Place): Filter {
  const { pointer, depth } = place;
  if (!isLiteralObject(literal)) fail(pointer, 'a filter is an object, as in {"$.customer_id": "cus_1"}');
  if (literal.size === 0) fail(pointer, 'a filter has at least one member; for every body leave the filter out');
  if (depth > FILTER_DEPTH_MAX) fail(pointer, `filters are nested at most ${FILTER_DEPTH_MAX} deep, this one included`);
  return all(
    [...literal].map(([key, value]) => parseMember(key, value, { ...place, pointer: pointInto(pointer, key) })),
  );
}

function parseMember(key: string, literal: Literal, place: Place): Filter {
  const inner = { ...place, depth: place.depth + 1 };
  if (key === '$not') return { operator: '$not', part: parseMembers(literal, inner) };
  if (key === '$and') return all(parseList(key, literal, inner));
  if (key === '$or') return { operator: '$or', parts: parseList(key, literal, inner) };
  const path = parsePath(key);
  if (typeof path === 'string') fail(place.pointer, /^\$\w/.test(key) ? explainKeyword(key) : path);
  countCondition(path, place);
  return parseCondition(path, literal, place.pointer);
}

function countCondition({ singular }: FilterPath, { pointer, count }: Place): void {
  if (++count.conditions > FILTER_CONDITIONS_MAX) {
    fail(pointer, `a filter has at most ${FILTER_CONDITIONS_MAX} conditions`);
  }
  if (!singular && ++count.wildcardConditions > count.wildcardConditionsMax) {
    fail(pointer, `a filter has [*] in at most ${count.wildcardConditionsMax} conditions`);
  }
}

function explainKeyword(key: string): string {
  if (OPERATORS.includes(key)) {
    return `${key} belongs under a path, as in {"$.amount": {${quote(key)}: …}}`;
  }
  return `${quote(key)} is neither a path, as in "$.customer_id", nor $and, $or or $not`;
}

function parseList(key: string, literal: Literal, place: Place): Filter[] {
  if (!isLiteralArray(literal)) fail(place.pointer, `${key} takes an array of filters`);
  if (literal.length === 0) fail(place.pointer, `${key} takes at least one filter`);
  return literal.map((part, index) => parseMembers(part, { ...place, pointer: pointInto(place.pointer, index) }));
}

/** Joins filters that must all hold, and dissolves what is itself such a join. */
function all(parts: Filter[]): Filter {
  const flat = parts.flatMap((part) => (part.operator === '$and' ? part.parts : [part]));
  return flat.length === 1 ? flat[0]! : { operator: '$and', parts: flat };
}

function parseCondition(path: FilterPath, literal: Literal, pointer: string): Filter {
  if (isScalar(literal)) return { operator: '$eq', path, operand: literal };
  if (!isLiteralObject(literal))
    fail(pointer, 'for any of several values write {"$in": […]}, for an array {"$eq": […]}');
  if (literal.size === 0) fail(pointer, `a condition has at least one operator: ${OPERATORS.join(', ')}`);
  return all([...literal].map(([key, operand]) => parseTest({ key, path, operand, pointer: pointInto(pointer, key) })));
}

type TestSource = { key: string; path: FilterPath; operand: Literal; pointer: string };

function parseTest({ key, path, operand, pointer }: TestSource): FilterTest {
  switch (key) {
    case '$eq':
    case '$ne':
    case '$contains':
      return { operator: key, path, operand };
    case '$gt':
    case '$gte':
    case '$lt':
    case '$lte':
      if (typeof operand === 'number' || typeof operand === 'string') return { operator: key, path, operand };
      return fail(pointer, `${key} takes a number or a string`);
    case '$in':
    case '$nin':
      return { operator: key, path, operand: parseValues(key, operand, pointer) };
    case '$exists':
      if (typeof operand === 'boolean') return { operator: key, path, operand };
      return fail(pointer, '$exists takes true or false');
    case '$startsWith':
    case '$endsWith':
      if (typeof operand === 'string') return { operator: key, path, operand };
      return fail(pointer, `${key} takes a string`);
    default:
      return fail(pointer, explainOperator(key));
  }
}

function parseValues(operator: string, literal: Literal, pointer: string): ReadonlySet<Scalar> {
  const values = isLiteralArray(literal) ? literal : fail(pointer, `${operator} takes an array of values`);
  if (values.length < 1 || values.length > LIST_VALUES_MAX) {
    fail(pointer, `${operator} takes 1-${LIST_VALUES_MAX} values; this one has ${values.length}`);
  }
  return new Set(values.map((value, index) => parseListedValue(operator, value, pointInto(pointer, index))));
}

function parseListedValue(operator: string, literal: Literal, pointer: string): Scalar {
  return isScalar(literal) ? literal : fail(pointer, `${operator} lists strings, numbers, true, false and null only`);
}

function explainOperator(key: string): string {
  const known = `the operators are ${OPERATORS.join(', ')}`;
  if (key.startsWith('$')) return `${quote(key)} is no operator here; ${known}`;
  return `${quote(key)} is no operator; to compare with an object write {"$eq": {…}}; ${known}`;
}
