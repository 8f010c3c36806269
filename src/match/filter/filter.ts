// A filter once parsed: a tree of tests, joined by $and, $or and $not.
import { isScalar, type Literal, type Scalar } from './json.ts';
import type { FilterPath } from './path.ts';

export type Filter =
  /** Never directly inside another `$and`: parsing joins them. */
  | { operator: '$and'; parts: readonly Filter[] }
  | { operator: '$or'; parts: readonly Filter[] }
  | { operator: '$not'; part: Filter }
  | FilterTest;

/** One operator, held against the values that its path selects. Flat, because a million of them are kept in memory. */
export type FilterTest =
  | { operator: '$eq' | '$ne' | '$contains'; path: FilterPath; operand: Literal }
  | { operator: '$gt' | '$gte' | '$lt' | '$lte'; path: FilterPath; operand: number | string }
  | { operator: '$in' | '$nin'; path: FilterPath; operand: ReadonlySet<Scalar> }
  | { operator: '$exists'; path: FilterPath; operand: boolean }
  | { operator: '$startsWith' | '$endsWith'; path: FilterPath; operand: string };

/** A body can pass the filter only if the path selects one of the values. */
export type Equality = { path: FilterPath; values: readonly Scalar[] };

/** The equalities that a filter demands, whatever else it does: what an index can find it by. */
export function listEqualities(filter: Filter): Equality[] {
  const parts = filter.operator === '$and' ? filter.parts : [filter];
  return parts.flatMap((part) => {
    if (part.operator === '$in') return [{ path: part.path, values: [...part.operand] }];
    return part.operator === '$eq' && isScalar(part.operand) ? [{ path: part.path, values: [part.operand] }] : [];
  });
}
