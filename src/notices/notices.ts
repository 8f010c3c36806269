// What is told of destinations, at most once a minute for each destination and type. What comes again within the minute
// waits for the next, the dead counted meanwhile. The minute is in the idempotency key of the event, so that several
// nodes, or a node before and after a restart, tell it once too. What waits when the process ends is not told.
import { ApiError } from '../model/error.ts';
import type { DeadReason } from '../model/delivery.ts';
import type { PausedReason } from '../model/destination.ts';
import type { DeliveryId, DestinationId, EventId } from '../model/id.ts';
import { formatTime } from '../model/time.ts';
import type { Clock } from '../runtime/clock.ts';
import { createLoop, type BackgroundStep, type Loop } from '../runtime/loop.ts';

/** An event of the service's own, as api/schemas/operational-events.ts documents it. Times are RFC 3339. */
export type NoticeBody =
  | { type: 'postrider.destination.paused'; data: { reason: PausedReason; paused_at: string } }
  | {
      type: 'postrider.destination.recovered';
      data: { after: 'paused' | 'failing'; failing_since: string | null; failed_attempts: number };
    }
  | {
      type: 'postrider.delivery.dead';
      data: {
        delivery_id: DeliveryId;
        event_id: EventId;
        event_type: string;
        dead_reason: DeadReason;
        /** How many have died since this was last told, this one included. */
        count: number;
      };
    }
  | { type: 'postrider.backlog.growing'; data: { unfinished: number; grown_by: number; within_seconds: number } };

type NoticeType = NoticeBody['type'];

/** Something to tell about one destination. */
export type Notice = NoticeBody & { environment: number; destinationId: DestinationId };

const MINUTE_MS = 60_000;
/** How soon what had to wait for a new minute is told in it. */
const INTERVAL_MS = 5_000;
const AT_ONCE_MAX = 50;

/**
 * `at`: of a change that every node sees the moment that all of them see; null: of what this node alone knows.
 * `isLate`: another of its kind was told in the minute in which it came, so that its event has the key of a later one.
 */
type Waiting = { notice: Notice; at: number | null; isLate: boolean };

type NoticesOptions = {
  clock: Clock;
  /**
   * Accepts it as an event, if some subscription wants it. Rejects with ApiError `idempotency_key_conflict` if another
   * was told under this key.
   */
  post: (notice: Notice, idempotencyKey: string) => Promise<void>;
  onError: (error: unknown, where: BackgroundStep) => void;
};

export class Notices {
  readonly loop: Loop;
  readonly #options: NoticesOptions;
  /** By type and destination: one of each. */
  readonly #waiting = new Map<string, Waiting>();
  /** On its way, and not withdrawn meanwhile. */
  readonly #telling = new Set<string>();
  /** What was told in this minute. */
  readonly #told = new Set<string>();
  #minute = 0;

  constructor(options: NoticesOptions) {
    this.#options = options;
    const { clock, onError } = options;
    const step = (): Promise<'idle'> => this.#tellAll();
    this.loop = createLoop({ name: 'notices', clock, intervalMs: INTERVAL_MS, step, onError });
  }

  /**
   * `at`: when it happened, where every node sees it and only the first tells it; absent: it is this node's to tell.
   * Of what waits already, the latest is told.
   */
  add(notice: Notice, at: number | null = null): void {
    const key = keyOf(notice.type, notice.destinationId);
    const before = this.#waiting.get(key);
    if (before !== undefined) addCount(notice, before.notice);
    const isLate = this.#told.has(key);
    this.#waiting.set(key, { notice, at, isLate });
    if (before === undefined && !isLate) this.loop.wake();
  }

  /** What was to be told is no longer so. */
  withdraw(type: NoticeType, id: DestinationId): void {
    const key = keyOf(type, id);
    this.#waiting.delete(key);
    this.#telling.delete(key);
  }

  async #tellAll(): Promise<'idle'> {
    const now = this.#options.clock.now();
    const minute = Math.floor(now / MINUTE_MS);
    if (minute !== this.#minute) this.#told.clear();
    this.#minute = minute;
    const due = [...this.#waiting].filter(([key]) => !this.#told.has(key));
    for (let i = 0; i < due.length; i += AT_ONCE_MAX) {
      await Promise.all(due.slice(i, i + AT_ONCE_MAX).map(([key, waiting]) => this.#tell(key, waiting, now)));
    }
    return 'idle';
  }

  async #tell(key: string, waiting: Waiting, now: number): Promise<void> {
    const { notice, at, isLate } = waiting;
    this.#waiting.delete(key);
    this.#telling.add(key);
    this.#told.add(key);
    const minute = formatTime(at === null || isLate ? now : at).slice(0, 'YYYY-MM-DDThh:mm'.length);
    try {
      await this.#options.post(notice, `${key}:${minute}`);
    } catch (error) {
      const isTold = error instanceof ApiError && error.code === 'idempotency_key_conflict';
      // Another node told of the same change, or, of what this node alone knows, told of something else.
      if (isTold && at !== null) return;
      if (!isTold) this.#told.delete(key);
      if (this.#telling.has(key)) this.#putBack(key, waiting);
      if (!isTold) throw error;
    } finally {
      this.#telling.delete(key);
    }
  }

  #putBack(key: string, waiting: Waiting): void {
    const after = this.#waiting.get(key);
    if (after === undefined) this.#waiting.set(key, waiting);
    else addCount(after.notice, waiting.notice);
  }
}

function keyOf(type: NoticeType, id: DestinationId): string {
  return `${type}:${id}`;
}

/** Deliveries that died are counted, whichever of them is told of. */
function addCount(notice: Notice, other: Notice): void {
  if (notice.type === 'postrider.delivery.dead' && other.type === notice.type) notice.data.count += other.data.count;
}
