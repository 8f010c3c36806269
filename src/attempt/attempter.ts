// The attempt folder as app/network.ts sees it: everything that goes out over the network, put together.
import type { Clock } from '../runtime/clock.ts';
import { createConnect } from './connect.ts';
import type { Guard } from './guard.ts';
import { createPerform } from './perform.ts';
import { createPools } from './pools.ts';
import { createProbe } from './reachability.ts';
import { ReadingTime } from './reading-time.ts';
import type { Resolver } from './resolver.ts';

export type Attempter = ReturnType<typeof createAttempter>;

export function createAttempter(options: {
  guard: Guard;
  resolver: Resolver;
  clock: Clock;
  /** Of this program, for `user-agent`. */
  version: string;
  /** REACHABILITY_PER_MINUTE, for each environment. */
  probesPerMinute: number;
  /** Hears of exceptions that should be impossible; for the log. */
  onFault: (error: unknown) => void;
}) {
  const { guard, resolver, clock, version, onFault } = options;
  const connect = createConnect({ guard, resolver, clock, readingTime: new ReadingTime(clock) });
  const pools = createPools({ connect, clock });
  return {
    perform: createPerform({ pools, clock, version, onFault }),
    probe: createProbe({ connect, clock, perMinute: options.probesPerMinute }),
    /** Closes idle connections; attempts on the wire end by themselves or by their abort. */
    close: (): void => pools.close(),
    stats: () => ({ idleConnections: pools.stats().idle }),
  };
}
