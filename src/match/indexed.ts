// The fast matcher: event type → the patterns that can match it, by hash look-up; within a pattern, the subscriptions
// whose filter demands an equality by the value at its path; only the rest are tried one by one.
import type { SubscriptionId } from '../model/id.ts';
import { filterAccepts } from './filter-evaluate.ts';
import type { Matcher, MatchEntry } from './matcher.ts';
import { EVERYTHING, once, sortById } from './matcher.ts';
import { PatternIndex } from './pattern-index.ts';
import { listPatternsFor } from './patterns.ts';

export class IndexedMatcher implements Matcher {
  readonly #entries = new Map<SubscriptionId, MatchEntry>();
  readonly #patterns = new Map<string, PatternIndex>();

  get size(): number {
    return this.#entries.size;
  }

  add(entry: MatchEntry): void {
    this.remove(entry.id);
    const index = this.#patterns.get(entry.pattern) ?? new PatternIndex(entry.pattern);
    // Entries share one string: each row of the store brings its own copy of the pattern.
    const kept = { ...entry, pattern: index.pattern };
    this.#patterns.set(index.pattern, index);
    this.#entries.set(kept.id, kept);
    index.add(kept);
  }

  remove(id: SubscriptionId): MatchEntry | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    this.#entries.delete(id);
    const index = this.#patterns.get(entry.pattern)!;
    index.remove(entry);
    if (index.isEmpty) this.#patterns.delete(entry.pattern);
    return entry;
  }

  match(type: string, readBody: () => unknown, { max, destinationIds } = EVERYTHING): MatchEntry[] {
    const body = once(readBody);
    const wanted: MatchEntry[] = [];
    const tryEntry = (entry: MatchEntry): void => {
      if (wanted.length > max || destinationIds?.has(entry.destinationId) === false) return;
      if (entry.filter === null || filterAccepts(entry.filter, body())) wanted.push(entry);
    };
    for (const pattern of listPatternsFor(type)) this.#patterns.get(pattern)?.forEachCandidate(body, tryEntry);
    return sortById(wanted);
  }
}
