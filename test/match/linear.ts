// The obviously right matcher: it tries every subscription. The oracle for indexed.ts.
import type { SubscriptionId } from '../../src/model/id.ts';
import type { Matcher, MatchBody, MatchEntry } from '../../src/match/matcher.ts';
import { EVERYTHING, once, sortById } from '../../src/match/matcher.ts';
import { filterAccepts, patternMatches } from './plainly.ts';

export class LinearMatcher implements Matcher {
  readonly #entries = new Map<SubscriptionId, MatchEntry>();

  get size(): number {
    return this.#entries.size;
  }

  add(entry: MatchEntry): void {
    this.#entries.set(entry.id, entry);
  }

  remove(id: SubscriptionId): MatchEntry | undefined {
    const entry = this.#entries.get(id);
    this.#entries.delete(id);
    return entry;
  }

  match(type: string, body: Pick<MatchBody, 'parse'>, { max, destinationIds } = EVERYTHING): MatchEntry[] {
    const parsed = once(() => body.parse());
    const wanted = [...this.#entries.values()].filter(
      ({ pattern, filter, destinationId }) =>
        destinationIds?.has(destinationId) !== false &&
        patternMatches(pattern, type) &&
        (filter === null || filterAccepts(filter, parsed())),
    );
    return sortById(wanted.slice(0, max + 1));
  }
}
