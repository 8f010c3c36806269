// Deliveries that are sent again: the dead get a fresh schedule, and those that wait for a retry go out now.
import type { Delivery, DeliveryStatus, OpenDelivery } from '../model/delivery.ts';
import { selects, toTypeSelection } from '../model/event-type.ts';
import { idTime, type DeliveryId } from '../model/id.ts';
import type { OperationRequest } from '../model/operation.ts';
import type { SendAgain } from '../model/transitions.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Store, ToHandOver } from '../store/store.ts';
import type { Pace } from './pace.ts';
import { untilOf, type Found, type Place, type Taken, type Task, type Work } from './work.ts';

type DeliveryRequest = Exclude<OperationRequest, { kind: 'event_replay' }>;

/** What is counted at a time, in the index alone or row by row: a few milliseconds of the store's reader. */
const COUNTED_PER_PIECE = 20_000;
const ROWS_PER_PAGE = 200;
/** A step's transaction sends this many again at most: about 5 ms on the embedded store's writer. */
const SENT_PER_STEP = 100;

/** Those that wait for a retry come first: a dead one that fails again waits for a retry too, and has had its turn. */
const LISTS: Readonly<Record<DeliveryRequest['kind'], readonly { status: DeliveryStatus; how: SendAgain }[]>> = {
  dlq_replay: [{ status: 'dead', how: 'replay_dead' }],
  destination_recovery: [
    { status: 'retrying', how: 'retry_waiting' },
    { status: 'dead', how: 'replay_dead' },
  ],
};

type Options = {
  store: Pick<Store, 'listDeliveries' | 'countDeliveries'>;
  clock: Clock;
  /** Called after the commit, with what can be sent. */
  dispatch: (delivery: OpenDelivery, from: ToHandOver) => void;
};

export function createDeliveryWork({ store, clock, dispatch }: Options): Work {
  const look = async (task: Task, { list, before }: Place, limit: number) => {
    const request = task.request as DeliveryRequest;
    const { status } = LISTS[request.kind][list]!;
    const range = { since: request.since, until: untilOf(task) };
    const page = await store.listDeliveries({
      environment: task.environment,
      filter: { eventId: null, destinationId: request.destinationId, status, ...range },
      before: before as DeliveryId | null,
      limit,
    });
    return {
      rows: page.rows.filter(createMatcher(task, status)),
      next: placeAfter(request.kind, list, page.next),
    };
  };

  return {
    /** Without a look at rows what moves while it is counted counts too: as skipped, when the operation ends. */
    async count(task, place) {
      const request = task.request as DeliveryRequest;
      if (isNarrow(request)) {
        const { rows, next } = await look(task, place, ROWS_PER_PAGE);
        return { found: foundIn(rows), next };
      }
      const { count, oldest, newest, next } = await store.countDeliveries({
        environment: task.environment,
        destinationId: request.destinationId,
        status: LISTS[request.kind][place.list]!.status,
        since: request.since,
        until: untilOf(task),
        before: place.before as DeliveryId | null,
        limit: COUNTED_PER_PIECE,
      });
      const found = { count, oldest: oldest && idTime(oldest), newest: newest && idTime(newest) };
      return { found, next: placeAfter(request.kind, place.list, next) };
    },
    async take(task, place, pace): Promise<Taken> {
      const { kind } = task.request as DeliveryRequest;
      const { rows, next } = await look(task, place, isNarrow(task.request) ? ROWS_PER_PAGE : SENT_PER_STEP);
      const { ids, waitMs } = takeFirst(rows, pace, clock.monotonic());
      const isWhole = ids.length === rows.length;
      const { how } = LISTS[kind][place.list]!;
      return {
        step: ids.length === 0 ? null : { sendAgain: { how, ids }, replays: null, failed: 0 },
        next: isWhole ? next : { list: place.list, before: ids.at(-1) ?? place.before },
        waitMs,
        onStored: (stored) => stored.open.forEach((delivery) => dispatch(delivery, stored)),
      };
    },
  };
}

/** `next`: of this list, null at its end; the next list follows it. */
function placeAfter(kind: DeliveryRequest['kind'], list: number, next: DeliveryId | null): Place | null {
  if (next !== null) return { list, before: next };
  return list === LISTS[kind].length - 1 ? null : { list: list + 1, before: null };
}

/** Its lists show more than it wants, and each page may have little of that. */
function isNarrow(request: OperationRequest): boolean {
  return request.kind === 'dlq_replay' && (request.eventType !== null || request.deadReason !== null);
}

/** What the list cannot tell: of what type, why it died, and whether that was before the operation was asked for. */
function createMatcher({ request, cutoff }: Task, status: DeliveryStatus): (row: Delivery) => boolean {
  const { eventType, deadReason } = request.kind === 'dlq_replay' ? request : { eventType: null, deadReason: null };
  const selection = eventType === null ? null : toTypeSelection(eventType);
  return (row) =>
    (status === 'dead' ? row.completedAt! : row.updatedAt) < cutoff &&
    (deadReason === null || row.deadReason === deadReason) &&
    (selection === null || selects(selection, row.eventType));
}

/** `rows`: newest first. */
function foundIn(rows: readonly Delivery[]): Found {
  return { count: rows.length, oldest: rows.at(-1)?.createdAt ?? null, newest: rows[0]?.createdAt ?? null };
}

function takeFirst(rows: readonly Delivery[], pace: Pace, at: number): { ids: DeliveryId[]; waitMs: number } {
  const ids: DeliveryId[] = [];
  for (const { id, destinationId } of rows) {
    if (ids.length === SENT_PER_STEP) break;
    if (!pace.take(destinationId, at)) return { ids, waitMs: pace.waitMs(destinationId, at) };
    ids.push(id);
  }
  return { ids, waitMs: 0 };
}
