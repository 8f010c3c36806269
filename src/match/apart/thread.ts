// The entry of the thread that matches what would hold up the event loop. It has a copy of the subscriptions that it
// was sent, and does what it is told in the order in which it is told.
import { parentPort } from 'node:worker_threads';
import type { SubscriptionId } from '../../model/id.ts';
import { parseBody } from '../../json/body.ts';
import type { Filter } from '../filter/filter.ts';
import type { FilterPath } from '../filter/path.ts';
import { IndexedMatcher } from '../indexed.ts';
import { TooMuchWork, Work, type MatchEntry, type MatchScope } from '../matcher.ts';

export type Order =
  | { do: 'add'; entries: readonly MatchEntry[] }
  | { do: 'remove'; id: SubscriptionId }
  | { do: 'match'; type: string; bytes: Uint8Array; scope: MatchScope }
  | { do: 'explain'; type: string; bytes: Uint8Array };

/** The ids of the subscriptions that an event goes to, or why there are none: the limit, or a fault of ours. */
export type MatchAnswer = { ids: SubscriptionId[] } | NoAnswer;
/** The JSON of an explanation (explanation.ts). */
export type Explanation = { json: Uint8Array<ArrayBuffer> } | NoAnswer;
type NoAnswer = { tooMuchWork: true } | { fault: string };

/** Some 10 to 50 s: who posts an event does not wait longer, and those behind it have to. */
const STEPS_MAX = 1_000_000_000;
/** Half a second to 2 s, for which a large event may have to wait. */
const EXPLAIN_STEPS_MAX = 50_000_000;

const matcher = new IndexedMatcher();

// Of messages each brings its own copy of a path, of which there are few: kept once, as parsePath does.
const paths = new Map<string, FilterPath>();

if (parentPort !== null) {
  const port = parentPort;
  port.on('message', (order: Order) => {
    if (order.do === 'add') for (const entry of order.entries) matcher.add(withSharedPaths(entry));
    else if (order.do === 'remove') matcher.remove(order.id);
    else if (order.do === 'match') port.postMessage(tryTo(() => match(order)) satisfies MatchAnswer, []);
    else port.postMessage(tryTo(() => explain(order)) satisfies Explanation, []);
  });
}

function match({ type, bytes, scope }: Order & { do: 'match' }): MatchAnswer {
  return { ids: matcher.match(new Work(STEPS_MAX), type, bodyOf(bytes), scope).map(({ id }) => id) };
}

function explain({ type, bytes }: Order & { do: 'explain' }): Explanation {
  return { json: new TextEncoder().encode(matcher.explain(new Work(EXPLAIN_STEPS_MAX), type, bodyOf(bytes))) };
}

function bodyOf(bytes: Uint8Array): { parse: () => unknown } {
  return { parse: () => parseBody(new TextDecoder().decode(bytes)) };
}

function tryTo<Answer>(find: () => Answer): Answer | NoAnswer {
  try {
    return find();
  } catch (error) {
    return error instanceof TooMuchWork ? { tooMuchWork: true } : { fault: String((error as Error).stack ?? error) };
  }
}

function withSharedPaths(entry: MatchEntry): MatchEntry {
  return { ...entry, filter: entry.filter === null ? null : shareIn(entry.filter) };
}

function shareIn(filter: Filter): Filter {
  switch (filter.operator) {
    case '$and':
    case '$or':
      return { operator: filter.operator, parts: filter.parts.map(shareIn) };
    case '$not':
      return { operator: '$not', part: shareIn(filter.part) };
    default:
      return { ...filter, path: paths.getOrInsert(filter.path.key, filter.path) };
  }
}
