// The attempt folder as app/network.ts sees it: everything that goes out over the network, put together.
import type { Clock } from '../runtime/clock.ts';
import { createConnect } from './connect.ts';
import type { Guard } from './guard.ts';
import { createPerform } from './perform.ts';
import { createPools } from './pools.ts';
import { createReachability } from './reachability.ts';
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
  const connect = createConnect({ guard, resolver, clock });
  const pools = createPools({ connect, clock });
  const reachability = createReachability({ connect, clock, perMinute: options.probesPerMinute });
  return {
    perform: createPerform({ pools, clock, version, onFault }),
    /** Whether an environment may have a URL probed now; ask right before `probe`, in the same turn. */
    allowProbe: reachability.allow,
    probe: reachability.probe,
    /** Closes idle connections; attempts on the wire end by themselves or by their abort. */
    close: (): void => pools.close(),
    stats: () => ({ idleConnections: pools.stats().idle }),
  };
}
