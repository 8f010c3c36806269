// The shared transactions of accepting: requests that arrive while one is being written make the next. Environments
// take turns in them, so that nothing that one of them sends keeps another waiting for longer than one transaction.
import type { Clock } from '../runtime/clock.ts';
import { createGroupCommit } from '../runtime/group-commit.ts';
import type { GroupCommit } from '../runtime/group-commit.ts';
import type { AcceptResult, NewEvent, ReplayRequest, ReplayResult, Store } from '../store/store.ts';

/** Events, their deliveries, the bytes of their bodies. An event with more than all deliveries goes alone. */
const BATCH_MAX = { items: 250, units: 2_500, bytes: 2 * 1024 * 1024 };
/**
 * Beyond this the answer is 503 at once: a queue that only grows helps nobody. Of one environment while no other has
 * anything waiting; all together less than twice as much. A delivery takes about 110 bytes.
 */
const WAITING_MAX = { items: 20_000, units: 500_000, bytes: 64 * 1024 * 1024 };
const WAITING_REPLAYS_MAX = 1_000;

export function createAcceptBatches(options: {
  store: Pick<Store, 'acceptEvents' | 'lanes'>;
  clock: Clock;
}): GroupCommit<NewEvent, AcceptResult> {
  const { store, clock } = options;
  return createGroupCommit({
    clock,
    lane: store.lanes?.accepting,
    limits: { batch: BATCH_MAX, waiting: WAITING_MAX },
    queueOf: (event) => event.environment,
    unitsOf: (event) => event.deliveries.length,
    bytesOf: (event) => event.body.length,
    // What keeps a whole batch from being stored is each event's own failure.
    write: (events) =>
      store.acceptEvents(events).catch((error: unknown) => events.map(() => ({ result: 'failed', error }))),
  });
}

/** A transaction each. All at once they would stand before the next accept in the store's own queue. */
export function createReplayTurns(options: {
  store: Pick<Store, 'replayEvent' | 'lanes'>;
  clock: Clock;
}): GroupCommit<ReplayRequest, ReplayResult> {
  const { store, clock } = options;
  const lane = store.lanes?.accepting;
  return createGroupCommit({
    clock,
    lane: lane?.areParallel ? { ...lane, itemsMin: 1 } : undefined,
    limits: { batch: { ...BATCH_MAX, items: 1 }, waiting: { ...WAITING_MAX, items: WAITING_REPLAYS_MAX } },
    queueOf: (replay) => replay.environment,
    unitsOf: (replay) => replay.deliveries.length,
    bytesOf: () => 0,
    write: async ([replay]) => [await store.replayEvent(replay!)],
  });
}
