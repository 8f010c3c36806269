// Collects what is to be announced and sends it at most every 10 ms: a burst of accepts makes a few announcements, and
// an idle system announces at once.
import type { DueWork } from '../model/delivery.ts';
import type { DestinationId } from '../model/id.ts';
import type { Clock, Timer } from '../runtime/clock.ts';
import type { ClusterStore } from '../store/cluster-store.ts';
import { encodeWakeUp, type WakeUp } from './wake-up.ts';

/**
 * Each announcement costs a transaction here and one in every node that listens, then a read of deliveries and one of
 * bodies. Under load it waits this long; the next after a rest goes at once.
 */
const ANNOUNCE_INTERVAL_MS = 10;

export type Announcer = ReturnType<typeof createAnnouncer>;

export function createAnnouncer(options: {
  store: Pick<ClusterStore, 'announce'>;
  clock: Clock;
  onError: (error: unknown) => void;
}) {
  const { store, clock, onError } = options;
  let pending = createPending();
  let sentAt = Number.NEGATIVE_INFINITY;
  let timer: Timer | null = null;
  let sending: Promise<void> | null = null;

  const send = async (): Promise<void> => {
    const texts = encodeWakeUp(pending.take());
    pending = createPending();
    sentAt = clock.monotonic();
    try {
      await Promise.all(texts.map((text) => store.announce(text)));
    } catch (error) {
      // This wake-up is lost; the sweep and the steps of other nodes find what it was about.
      onError(error);
    }
    sending = null;
    // Wake-ups gather while others are on their way.
    if (!pending.isEmpty()) schedule();
  };

  const schedule = (): void => {
    if (timer !== null || sending !== null) return;
    timer = clock.setTimer(
      () => {
        timer = null;
        sending = send();
      },
      Math.max(0, sentAt + ANNOUNCE_INTERVAL_MS - clock.monotonic()),
    );
  };

  return {
    announce(wakeUp: Partial<WakeUp>): void {
      pending.add(wakeUp);
      schedule();
    },
    /** Resolves when what was announced by now has been sent, or been lost. */
    async flush(): Promise<void> {
      while (sending !== null || !pending.isEmpty()) {
        timer?.cancel();
        timer = null;
        sending ??= send();
        await sending;
      }
    },
  };
}

function createPending() {
  const due = new Map<DestinationId, DueWork>();
  const changed = new Set<number>();
  const acknowledged = new Set<DestinationId>();
  let hasMoved = false;
  return {
    add(wakeUp: Partial<WakeUp>): void {
      for (const { destinationId, dueAt } of wakeUp.due ?? []) {
        const known = due.get(destinationId);
        if (known === undefined || dueAt < known.dueAt) due.set(destinationId, { destinationId, dueAt });
      }
      for (const environment of wakeUp.changed ?? []) changed.add(environment);
      for (const id of wakeUp.acknowledged ?? []) acknowledged.add(id);
      hasMoved ||= wakeUp.hasMoved === true;
    },
    isEmpty: () => due.size + changed.size + acknowledged.size === 0 && !hasMoved,
    take: (): WakeUp => ({
      due: [...due.values()],
      shards: [],
      changed: [...changed],
      acknowledged: [...acknowledged],
      hasMoved,
    }),
  };
}
