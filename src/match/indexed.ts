// The fast matcher: event type → the patterns that can match it, by hash look-up; within a pattern, the subscriptions
// whose filter demands an equality by the value at its path; only the rest are tried one by one, all on one inspection
// of the body.
import type { SubscriptionId } from '../model/id.ts';
import { Inspection } from './inspection.ts';
import type { Matcher, MatchBody, MatchEntry, MatchScope } from './matcher.ts';
import { EVERYTHING, once, sortById } from './matcher.ts';
import { PatternIndex, listPatternsFor } from './pattern-index.ts';
import { unlimitedWork } from './work.ts';
import type { Work } from './work.ts';

type ParsedOnDemand = Pick<MatchBody, 'parse'>;

export class IndexedMatcher implements Matcher {
  readonly #entries = new Map<SubscriptionId, MatchEntry>();
  readonly #patterns = new Map<string, PatternIndex>();

  get size(): number {
    return this.#entries.size;
  }

  get(id: SubscriptionId): MatchEntry | undefined {
    return this.#entries.get(id);
  }

  /** All of them; what is added or removed meanwhile is met or missed. */
  entries(): IterableIterator<MatchEntry> {
    return this.#entries.values();
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

  match(type: string, body: ParsedOnDemand, scope: MatchScope = EVERYTHING): MatchEntry[] {
    return this.matchWithin(unlimitedWork(), type, body, scope);
  }

  /** As `match`. Throws TooMuchWork. */
  matchWithin(work: Work, type: string, body: ParsedOnDemand, { max, destinationIds }: MatchScope): MatchEntry[] {
    const inspect = once(() => new Inspection(body.parse(), work));
    const wanted: MatchEntry[] = [];
    const tryEntry = (entry: MatchEntry): void => {
      work.spend(1);
      if (wanted.length > max || destinationIds?.has(entry.destinationId) === false) return;
      if (entry.filter === null || inspect().accepts(entry.filter)) wanted.push(entry);
    };
    for (const pattern of listPatternsFor(type)) this.#patterns.get(pattern)?.forEachCandidate(inspect, tryEntry);
    return sortById(wanted);
  }
}
