// The matcher by itself: µs for each event, over kinds of subscriptions and how many there are.
import { performance } from 'node:perf_hooks';
import { parseBody } from '../../src/json/body.ts';
import type { Filter } from '../../src/match/filter/filter.ts';
import { isFilterFault, parseFilter } from '../../src/match/filter/parse.ts';
import { IndexedMatcher } from '../../src/match/indexed.ts';
import { EVERYTHING, Work } from '../../src/match/matcher.ts';
import { aimed, figureOf, type Figure } from '../report.ts';
import { bodyOf } from './throughput.ts';

const REPEATS = 5;
const REPEAT_MS = 150;
const EVENTS_PER_LOOK = 50;
const DISTINCT_EVENTS = 4_096;
const MICROSECONDS_MAX = 5;
const GROWTH_MAX = 3;

/** A subscription of each index, and an event that one of them wants. */
type Kind = {
  name: string;
  isIndexable: boolean;
  patternOf: (index: number) => string;
  filterOf: ((index: number) => object) | null;
  typeOf: (index: number) => string;
};

const customer = (index: number): string => `cus_${String(index).padStart(8, '0')}`;
const byCustomer = (index: number): object => ({ '$.customer': customer(index) });

const KINDS: readonly Kind[] = [
  {
    name: 'exact types',
    isIndexable: true,
    patternOf: (index) => `shop${index}.order.paid`,
    filterOf: null,
    typeOf: (index) => `shop${index}.order.paid`,
  },
  {
    name: 'wildcards',
    isIndexable: true,
    patternOf: (index) => `shop${index}.**`,
    filterOf: null,
    typeOf: (index) => `shop${index}.order.paid`,
  },
  {
    name: 'exact type, filter on the customer',
    isIndexable: true,
    patternOf: () => 'order.paid',
    filterOf: byCustomer,
    typeOf: () => 'order.paid',
  },
  {
    name: 'wildcard, filter on the customer',
    isIndexable: true,
    patternOf: () => 'order.*',
    filterOf: byCustomer,
    typeOf: () => 'order.paid',
  },
  {
    name: 'filters that no index can help',
    isIndexable: false,
    patternOf: () => 'order.paid',
    filterOf: (index) => ({ '$.customer': { $startsWith: customer(index) } }),
    typeOf: () => 'order.paid',
  },
];

/** `sizes` from the smallest to the largest. */
export function measureMatcher(sizes: readonly number[]): Figure[] {
  return KINDS.flatMap((kind) => {
    const figures = sizes.map((size) => {
      return figureOf(`${kind.name}: ${size.toLocaleString('en-US')}`, 'µs/event', measure(kind, size));
    });
    if (!kind.isIndexable) return figures;
    const largest = figures.at(-1)!;
    const growth = { name: `${kind.name}: growth`, value: largest.value / figures[0]!.value, unit: '×' };
    // Without a filter no body is read: a look-up among ten costs next to nothing, and growth is cache misses alone.
    return [
      ...figures.slice(0, -1),
      aimed(largest, { atMost: MICROSECONDS_MAX }),
      kind.filterOf === null ? growth : aimed(growth, { atMost: GROWTH_MAX }),
    ];
  });
}

function measure(kind: Kind, size: number): number[] {
  const matcher = fill(kind, size);
  const events = Array.from({ length: DISTINCT_EVENTS }, () => {
    const index = Math.floor(Math.random() * size);
    return { type: kind.typeOf(index), bytes: Buffer.from(bodyOf({ customer: customer(index) })) };
  });
  let next = 0;
  const matchSome = (): void => {
    for (let i = 0; i < EVENTS_PER_LOOK; i++) {
      const { type, bytes } = events[next++ % DISTINCT_EVENTS]!;
      const work = new Work(Number.MAX_SAFE_INTEGER);
      const found = matcher.match(work, type, { parse: () => parseBody(bytes.toString()) }, EVERYTHING);
      if (found.length !== 1) throw new Error(`${kind.name}: ${found.length} subscriptions instead of one`);
    }
  };
  timePerEvent(matchSome);
  return Array.from({ length: REPEATS }, () => timePerEvent(matchSome));
}

function fill({ patternOf, filterOf }: Kind, size: number): IndexedMatcher {
  const matcher = new IndexedMatcher();
  for (let i = 0; i < size; i++) {
    const filter = filterOf === null ? null : parsed(filterOf(i));
    const id = `${i}`.padStart(26, '0');
    matcher.add({ id: `sub_${id}`, destinationId: `dst_${id}`, pattern: patternOf(i), filter });
  }
  return matcher;
}

function parsed(filter: object): Filter {
  const result = parseFilter(JSON.stringify(filter));
  if (isFilterFault(result)) throw new Error(result.message);
  return result;
}

/** Microseconds. */
function timePerEvent(matchSome: () => void): number {
  const startedAt = performance.now();
  let events = 0;
  for (; performance.now() - startedAt < REPEAT_MS; events += EVENTS_PER_LOOK) matchSome();
  return ((performance.now() - startedAt) * 1000) / events;
}
