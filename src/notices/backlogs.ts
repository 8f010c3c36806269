// Backlogs that grow: now and then a look at the largest, which the store has counted anyway. One that has grown from
// look to look is told of, and again when it has doubled: who is told every minute soon listens no more.
import type { DestinationId } from '../model/id.ts';
import type { Clock } from '../runtime/clock.ts';
import { createLoop, type BackgroundStep, type Loop } from '../runtime/loop.ts';
import type { Store } from '../store/store.ts';
import type { Notices } from './notices.ts';

/** No more often than nodes that share a store count anew what the others have added. */
const LOOK_MS = 60_000;
/** Smaller ones are no trouble. */
const UNFINISHED_MIN = 1_000;
/** Of the largest; others are looked at when those have become smaller. */
const LOOKED_AT_MAX = 1_000;
/** How often in a row it was more than the look before. */
const GROWTHS_MIN = 2;

type Seen = { unfinished: number; growths: number; grewFrom: number; grewAt: number; toldAt: number };

type BacklogWatchOptions = {
  store: Pick<Store, 'findBacklogs'>;
  ownedShards: () => readonly number[] | undefined;
  notices: Pick<Notices, 'add'>;
  clock: Clock;
  onError: (error: unknown, where: BackgroundStep) => void;
};

export function createBacklogWatch({ store, ownedShards, notices, clock, onError }: BacklogWatchOptions): Loop {
  let seen = new Map<DestinationId, Seen>();
  const look = async (): Promise<'idle'> => {
    const shards = ownedShards();
    const request = { min: UNFINISHED_MIN, limit: LOOKED_AT_MAX };
    const backlogs = await store.findBacklogs(shards === undefined ? request : { ...request, shards });
    const at = clock.monotonic();
    const now = new Map<DestinationId, Seen>();
    for (const { destinationId, environment, unfinished } of backlogs) {
      const growth = follow(seen.get(destinationId), unfinished, at);
      now.set(destinationId, growth);
      if (growth.growths < GROWTHS_MIN || unfinished < 2 * growth.toldAt) continue;
      growth.toldAt = unfinished;
      const data = {
        unfinished,
        grown_by: unfinished - growth.grewFrom,
        within_seconds: Math.round((at - growth.grewAt) / 1_000),
      };
      notices.add({ type: 'postrider.backlog.growing', environment, destinationId, data });
    }
    seen = now;
    return 'idle';
  };
  return createLoop({ name: 'backlogs', clock, intervalMs: LOOK_MS, step: look, onError });
}

function follow(before: Seen | undefined, unfinished: number, at: number): Seen {
  if (before === undefined) return { unfinished, growths: 0, grewFrom: unfinished, grewAt: at, toldAt: 0 };
  if (unfinished > before.unfinished) return { ...before, unfinished, growths: before.growths + 1 };
  const toldAt = unfinished < before.toldAt / 2 ? 0 : before.toldAt;
  return { unfinished, growths: 0, grewFrom: unfinished, grewAt: at, toldAt };
}
