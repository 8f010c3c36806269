// The obviously right matcher: it tries every subscription. The oracle for indexed.ts.
import type { SubscriptionId } from '../../src/model/id.ts';
import { parseBody } from '../../src/json/body.ts';
import type { IndexedMatcher } from '../../src/match/indexed.ts';
import type { Matcher } from '../../src/match/bounded.ts';
import { EVERYTHING, once, sortById, type MatchBody, type MatchEntry } from '../../src/match/matcher.ts';
import { filterAccepts, patternMatches } from './plainly.ts';
import { unlimitedWork } from './unlimited-work.ts';

export class LinearMatcher implements Matcher {
  readonly #entries = new Map<SubscriptionId, MatchEntry>();

  entries(): Iterable<MatchEntry> {
    return this.#entries.values();
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
        destinationId !== subjectOf(type, parsed) &&
        patternMatches(pattern, type) &&
        (filter === null || filterAccepts(filter, parsed())),
    );
    return sortById(wanted.slice(0, max + 1));
  }

  /** Less the conditions, and without a limit. */
  async explain(type: string, bytes: Uint8Array): Promise<Uint8Array> {
    const body = parseBody(Buffer.from(bytes).toString());
    const shorter = type.split('.').slice(0, -1).join('.');
    const explained = [...this.#entries.values()].flatMap(({ id, destinationId, pattern, filter }) => {
      const isPatternMatching = patternMatches(pattern, type);
      const isExact = !pattern.includes('*');
      const longer =
        isExact && pattern.startsWith(`${type}.`) && !pattern.includes('.', type.length + 1) ? pattern : `${type}.x`;
      const isNear = patternMatches(pattern, longer) || (shorter.includes('.') && patternMatches(pattern, shorter));
      if (!isPatternMatching && !(isNear && pattern !== '**')) return [];
      const isWanted = filter === null || filterAccepts(filter, body);
      const matches = isPatternMatching && isWanted && destinationId !== subjectOf(type, () => body);
      return { subscription_id: id, destination_id: destinationId, matches, pattern_matches: isPatternMatching };
    });
    const subscriptions = explained.sort(
      (a, b) => rank(a) - rank(b) || (a.subscription_id < b.subscription_id ? -1 : 1),
    );
    return Buffer.from(JSON.stringify({ subscriptions }));
  }
}

/** What either finds, however many steps it takes. */
export function matchWith(
  matcher: LinearMatcher | IndexedMatcher,
  type: string,
  body: Pick<MatchBody, 'parse'>,
): MatchEntry[] {
  if (matcher instanceof LinearMatcher) return matcher.match(type, body);
  return matcher.match(unlimitedWork(), type, body, EVERYTHING);
}

function rank({ matches, pattern_matches: isPatternMatching }: { matches: boolean; pattern_matches: boolean }): number {
  return matches ? 0 : isPatternMatching ? 1 : 2;
}

function subjectOf(type: string, body: () => unknown): unknown {
  return type.startsWith('postrider.') ? (body() as { destination_id?: unknown }).destination_id : undefined;
}
