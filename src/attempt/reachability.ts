// Whether a URL that is being registered can be reached: the same guard and connect as an attempt, up to the TLS
// handshake, and no HTTP request. One answer for every kind of failure, so that it is no scanner and no oracle.
import type { Mode } from '../model/api-key.ts';
import { delay, type Clock } from '../runtime/clock.ts';
import { CONNECT_MS_MAX, type Connect } from './connect.ts';
import { NoDescriptors } from './descriptors.ts';
import { parseTarget } from './target.ts';

const PROBES_AT_ONCE_MAX = 20;
const WINDOW_MS = 60_000;
const LIVE_FAILURE_MS_MIN = 1_000;

/** `perMinute`: of each environment. */
export function createProbe(options: { connect: Connect; clock: Clock; perMinute: number }) {
  const { connect, clock, perMinute } = options;
  let windowEndsAt = Number.NEGATIVE_INFINITY;
  let usedInWindow = new Map<number, number>();
  let underWay = 0;

  const tryConnect = async (url: URL, mode: Mode): Promise<'reachable' | 'unreachable' | 'no_descriptors'> => {
    underWay++;
    try {
      const { socket } = await connect({ target: parseTarget(url), mode, budgetMs: CONNECT_MS_MAX });
      // Soon, not at once: our last word of the handshake goes out first, or the receiver logs an error.
      socket.destroySoon();
      return 'reachable';
    } catch (error) {
      if (error instanceof NoDescriptors) return 'no_descriptors';
      // A ConnectError; anything unexpected must not become an oracle either.
      return 'unreachable';
    } finally {
      underWay--;
    }
  };

  /** Counts as the environment's probe. */
  const isAllowed = (environment: number): boolean => {
    if (clock.monotonic() >= windowEndsAt) {
      windowEndsAt = clock.monotonic() + WINDOW_MS;
      usedInWindow = new Map();
    }
    const used = usedInWindow.get(environment) ?? 0;
    if (used >= perMinute || underWay >= PROBES_AT_ONCE_MAX) return false;
    usedInWindow.set(environment, used + 1);
    return true;
  };

  /**
   * Never rejects. Beyond 20 at once it refuses instead of queueing: a probe may take 5 s, and its caller waits for an
   * answer. In live mode a failure takes at least a second, whatever failed.
   */
  return async ({ environment, mode, url }: ProbeRequest): Promise<ProbeResult> => {
    if (!isAllowed(environment)) return 'rate_limited';
    const earliestFailure = mode === 'live' ? delay(clock, LIVE_FAILURE_MS_MIN) : null;
    const result = await tryConnect(url, mode);
    if (result === 'unreachable') await earliestFailure;
    return result;
  };
}

type ProbeResult = 'reachable' | 'unreachable' | 'no_descriptors' | 'rate_limited';
type ProbeRequest = { environment: number; mode: Mode; url: URL };
