// Makes ids: UUIDv7 with a counter, so ids of one process are strictly increasing even within one millisecond and when
// the clock goes back a little. When it is set back by more, after it was wrong, ids go back with it: their time is
// when things were made, and would be wrong for as long as the clock had been ahead.
import { formatId, layOutId, type IdOf, type IdPrefix } from '../model/id.ts';
import type { Clock } from './clock.ts';
import type { Random } from './random.ts';

export type Ids = ReturnType<typeof createIds>;

const RANDOM_POOL_BYTES = 8_192;
const COUNTER_MAX = 4_095;
/** A hundred thousand ids at once borrow 25 ms; the time service slews what is less than an eighth of a second. */
const LEAD_MAX_MS = 100;

/** `onSetBack`: ids were this much ahead of the clock, and follow it again. */
export function createIds(clock: Clock, random: Random, onSetBack: (leadMs: number) => void = () => {}) {
  let time = 0;
  let counter = 0;
  let pool = random.bytes(RANDOM_POOL_BYTES);
  let used = 0;

  const beginAt = (now: number): void => {
    time = now;
    counter = 0;
  };

  // More than 4,096 ids in a millisecond borrow from the next: order matters more than the exact time. Ids that meet a
  // time again which had ids before are told apart by their 54 random bits.
  const advance = (): void => {
    const now = clock.now();
    const leadMs = time - now;
    if (leadMs < 0) {
      beginAt(now);
    } else if (leadMs > LEAD_MAX_MS) {
      onSetBack(leadMs);
      beginAt(now);
    } else if (counter < COUNTER_MAX) {
      counter++;
    } else {
      beginAt(time + 1);
    }
  };

  return {
    /** A new id. `shard` defaults to a random one; a delivery takes its destination's. */
    next<P extends IdPrefix>(prefix: P, shard?: number): IdOf<P> {
      advance();
      if (used + 16 > RANDOM_POOL_BYTES) {
        pool = random.bytes(RANDOM_POOL_BYTES);
        used = 0;
      }
      const first = used;
      used += 16;
      layOutId(pool, first, { time, counter, shard: shard ?? null });
      return formatId(prefix, pool, first);
    },
  };
}
