// A change of a destination is answered when the owner of its shard honours it, whichever node took the request. The
// change left a row in the store; the owner catches up, removes the row, and says so.
import { ApiError } from '../model/error.ts';
import type { DestinationId, NodeId } from '../model/id.ts';
import { delay, type Clock } from '../runtime/clock.ts';
import type { ClusterStore } from '../store/cluster-store.ts';
import type { Announcer } from './announcer.ts';
import type { ShardWork } from './work.ts';

/** An owner that lives acknowledges within one or two of its steps, even where every wake-up is lost. */
const CONFIRM_FOR_MS = 4_000;
const LOOK_AGAIN_MIN_MS = 25;
const LOOK_AGAIN_MAX_MS = 200;
const RETRY_AFTER_SECONDS = 2;

export type Changes = ReturnType<typeof createChanges>;

export function createChanges(options: {
  id: NodeId;
  store: Pick<ClusterStore, 'acknowledgeChanges' | 'isChangeWaiting'>;
  clock: Clock;
  work: Pick<ShardWork, 'catchUp'>;
  announcer: Announcer;
}) {
  const { id, store, clock, work, announcer } = options;
  const waiting = new Map<DestinationId, Set<() => void>>();

  /** This node goes by the configuration as it is now; whoever waits for that need not wait any longer. */
  const acknowledge = async (environments: readonly number[]): Promise<void> => {
    for (const environment of environments) {
      const version = await work.catchUp(environment);
      const acknowledged = await store.acknowledgeChanges({ node: id, environment, version });
      if (acknowledged.length > 0) announcer.announce({ acknowledged });
    }
  };

  /** Resolves when something is said about the destination, or after a while. */
  const hear = async (destinationId: DestinationId, waitMs: number): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiters = waiting.getOrInsert(destinationId, new Set()).add(resolve);
    await Promise.race([promise, delay(clock, waitMs)]);
    waiters.delete(resolve);
    if (waiters.size === 0) waiting.delete(destinationId);
  };

  return {
    acknowledge,
    /** Resolves when the owner honours a change that was committed before; ApiError `unavailable` after a while. */
    async confirm({
      environment,
      destinationId,
    }: {
      environment: number;
      destinationId: DestinationId;
    }): Promise<void> {
      // Where this node is the owner, nothing more has to be waited for.
      await acknowledge([environment]);
      const endsAt = clock.monotonic() + CONFIRM_FOR_MS;
      let waitMs = LOOK_AGAIN_MIN_MS;
      while (await store.isChangeWaiting(destinationId)) {
        if (clock.monotonic() >= endsAt) throw unconfirmed();
        if (waitMs === LOOK_AGAIN_MIN_MS) announcer.announce({ changed: [environment] });
        await hear(destinationId, waitMs);
        waitMs = Math.min(LOOK_AGAIN_MAX_MS, 2 * waitMs);
      }
    },
    /** An owner has acknowledged changes of these destinations. */
    noteAcknowledged(ids: readonly DestinationId[]): void {
      for (const destinationId of ids) for (const resolve of waiting.get(destinationId) ?? []) resolve();
    },
  };
}

function unconfirmed(): ApiError {
  return new ApiError(
    'unavailable',
    'the change is stored, but the node that sends to this destination has not confirmed it yet; read it again later',
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );
}
