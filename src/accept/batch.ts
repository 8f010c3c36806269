// The shared transaction of accepting: requests that arrive while one is being written make the next.
import type { Clock } from '../runtime/clock.ts';
import { createGroupCommit } from '../runtime/group-commit.ts';
import type { GroupCommit } from '../runtime/group-commit.ts';
import type { AcceptResult, NewEvent, Store } from '../store/store.ts';

const BATCH_EVENTS_MAX = 500;
const BATCH_DELIVERIES_MAX = 5_000;
const BATCH_BYTES_MAX = 4 * 1024 * 1024;
/** Beyond these the answer is 503 at once: a queue that only grows helps nobody. */
const WAITING_EVENTS_MAX = 20_000;
const WAITING_BYTES_MAX = 128 * 1024 * 1024;

export function createAcceptBatches(options: {
  store: Pick<Store, 'acceptEvents' | 'lanes'>;
  clock: Clock;
}): GroupCommit<NewEvent, AcceptResult> {
  const { store, clock } = options;
  return createGroupCommit({
    clock,
    concurrency: store.lanes?.accepting ?? 1,
    limits: {
      itemsMax: BATCH_EVENTS_MAX,
      unitsMax: BATCH_DELIVERIES_MAX,
      bytesMax: BATCH_BYTES_MAX,
      waitingMax: WAITING_EVENTS_MAX,
      waitingBytesMax: WAITING_BYTES_MAX,
    },
    unitsOf: (event) => event.deliveries.length,
    bytesOf: (event) => event.body.length,
    write: (events) => store.acceptEvents(events),
  });
}
