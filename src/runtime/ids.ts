// Makes ids: UUIDv7 with a counter, so ids of one process are strictly increasing even within one
// millisecond and when the clock is set back.
import { formatId, layOutIdBytes } from '../model/id.ts';
import type { IdOf, IdPrefix } from '../model/id.ts';
import type { Clock } from './clock.ts';
import type { Random } from './random.ts';

export interface Ids {
  /** A new id. `shard` defaults to a random one; a delivery takes its destination's. */
  next<P extends IdPrefix>(prefix: P, shard?: number): IdOf<P>;
}

const RANDOM_POOL_BYTES = 8_192;
const COUNTER_MAX = 4_095;

export function createIds(clock: Clock, random: Random): Ids {
  let time = 0;
  let counter = 0;
  let pool = random.bytes(RANDOM_POOL_BYTES);
  let used = 0;

  // More than 4,096 ids in a millisecond borrow from the next: order matters more than the exact time.
  const advance = (): void => {
    const now = clock.now();
    if (now > time) {
      time = now;
      counter = 0;
    } else if (counter < COUNTER_MAX) {
      counter++;
    } else {
      time++;
      counter = 0;
    }
  };

  return {
    next(prefix, shard) {
      advance();
      if (used + 16 > RANDOM_POOL_BYTES) {
        pool = random.bytes(RANDOM_POOL_BYTES);
        used = 0;
      }
      const randomBytes = pool.subarray(used, (used += 16));
      return formatId(prefix, layOutIdBytes({ time, counter, shard: shard ?? randomBytes[9]!, randomBytes }));
    },
  };
}
