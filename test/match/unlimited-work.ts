// Matching where nobody waits: it may take as many steps as it takes.
import { Work } from '../../src/match/matcher.ts';

/** A number and not Infinity, from which what was spent could not be told. */
export function unlimitedWork(): Work {
  return new Work(Number.MAX_SAFE_INTEGER);
}
