// The fast matcher: event type → the patterns that can match it, by hash look-up; within a pattern, the subscriptions
// whose filter demands an equality by the value at its path; only the rest are tried one by one, all on one inspection
// of the body.
import { isOperational } from '../model/event-type.ts';
import type { SubscriptionId } from '../model/id.ts';
import { EXPLAINED_MAX, writeExplanation, type Candidate } from './explanation.ts';
import { Inspection } from './inspection.ts';
import { once, sortById, type MatchBody, type MatchEntry, type MatchScope, type Work } from './matcher.ts';
import {
  addToBucket,
  itemsOf,
  removeFromBucket,
  listPatternsFor,
  listPatternsNear,
  parentOf,
  PatternIndex,
  type Bucket,
} from './pattern-index.ts';

type ParsedOnDemand = Pick<MatchBody, 'parse'>;

export class IndexedMatcher {
  readonly #entries = new Map<SubscriptionId, MatchEntry>();
  readonly #patterns = new Map<string, PatternIndex>();
  /** The patterns that are event types with one segment more than another, by that other. */
  readonly #longer = new Map<string, Bucket<string>>();

  get(id: SubscriptionId): MatchEntry | undefined {
    return this.#entries.get(id);
  }

  /** All of them; what is added or removed meanwhile is met or missed. */
  entries(): IterableIterator<MatchEntry> {
    return this.#entries.values();
  }

  add(entry: MatchEntry): void {
    this.remove(entry.id);
    const index = this.#patterns.get(entry.pattern) ?? this.#openPattern(entry.pattern);
    // Entries share one string: each row of the store brings its own copy of the pattern.
    const kept = { ...entry, pattern: index.pattern };
    this.#entries.set(kept.id, kept);
    index.add(kept);
  }

  remove(id: SubscriptionId): MatchEntry | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    this.#entries.delete(id);
    const index = this.#patterns.get(entry.pattern)!;
    index.remove(entry);
    if (index.isEmpty) this.#closePattern(index.pattern);
    return entry;
  }

  /** By id ascending. The body is parsed at most once, and only if some filter needs it. Throws TooMuchWork. */
  match(work: Work, type: string, body: ParsedOnDemand, { max, destinationIds }: MatchScope): MatchEntry[] {
    const inspect = once(() => new Inspection(body.parse(), work));
    const wanted: MatchEntry[] = [];
    const subject = findSubject(type, body.parse);
    const tryEntry = (entry: MatchEntry): void => {
      work.spend(1);
      if (wanted.length > max || destinationIds?.has(entry.destinationId) === false) return;
      if (entry.destinationId === subject) return;
      if (entry.filter === null || inspect().accepts(entry.filter)) wanted.push(entry);
    };
    for (const pattern of listPatternsFor(type)) this.#patterns.get(pattern)?.forEachCandidate(inspect, tryEntry);
    return sortById(wanted);
  }

  /**
   * Of the subscriptions that may want an event, why they do or do not, as JSON: first those that do, then those whose
   * pattern matches, then those whose pattern would with one segment more or less. Throws TooMuchWork.
   */
  explain(work: Work, type: string, body: ParsedOnDemand): string {
    const parsed = once(() => body.parse());
    const subject = findSubject(type, parsed);
    const candidates: Candidate[] = [];
    const listed = new Set<MatchEntry>();
    const list = (entries: Iterable<MatchEntry>, patternMatches: boolean): void => {
      const before = candidates.length;
      for (const entry of entries) {
        work.spend(1);
        if (listed.size >= EXPLAINED_MAX) break;
        if (listed.has(entry)) continue;
        listed.add(entry);
        candidates.push({ entry, patternMatches, isWithheld: entry.destinationId === subject });
      }
      candidates.push(...candidates.splice(before).sort((a, b) => (a.entry.id < b.entry.id ? -1 : 1)));
    };
    list(this.match(work, type, { parse: parsed }, { max: EXPLAINED_MAX }), true);
    list(this.#entriesOf(listPatternsFor(type)), true);
    list(this.#entriesOf(this.listNear(type)), false);
    return writeExplanation(candidates, new Inspection(parsed(), work), work);
  }

  /** The patterns that would match an event type with one segment more or less; some may have no subscription. */
  listNear(type: string): string[] {
    return [...listPatternsNear(type), ...Iterator.from(itemsOf(this.#longer.get(type))).take(EXPLAINED_MAX)];
  }

  *#entriesOf(patterns: readonly string[]): Generator<MatchEntry> {
    for (const pattern of patterns) yield* this.#patterns.get(pattern)?.entries() ?? [];
  }

  #openPattern(pattern: string): PatternIndex {
    const index = new PatternIndex(pattern);
    this.#patterns.set(pattern, index);
    const shorter = findShorterType(pattern);
    if (shorter !== null) this.#longer.set(shorter, addToBucket(this.#longer.get(shorter), pattern));
    return index;
  }

  #closePattern(pattern: string): void {
    this.#patterns.delete(pattern);
    const shorter = findShorterType(pattern);
    if (shorter === null) return;
    const rest = removeFromBucket(this.#longer.get(shorter), pattern);
    if (rest === undefined) this.#longer.delete(shorter);
    else this.#longer.set(shorter, rest);
  }
}

/** The event type that has one segment less than a pattern without a wildcard; null: there is none. */
function findShorterType(pattern: string): string | null {
  const shorter = parentOf(pattern);
  return shorter.includes('.') && !pattern.endsWith('*') ? shorter : null;
}

// The destination that an event of the service's own is about. It does not get the event: its trouble would be told to
// the one that cannot hear it, and an event about each of those events would follow.

/** Null: the event is a producer's, or about no destination. `parse`: the event's body, of parseBody. */
function findSubject(type: string, parse: () => unknown): string | null {
  if (!isOperational(type)) return null;
  const { destination_id: id } = parse() as { destination_id?: unknown };
  return typeof id === 'string' ? id : null;
}
