// What must hold while the world runs (work that may go on does go on, nothing spins) and when it has come to rest
// (nothing accepted is lost, and the stored history is what the receivers saw).
import { firstIdBytesAt, idTime } from '../../src/model/id.ts';
import type { Clients } from './clients.ts';
import type { DeliveryRow } from './database-view.ts';
import type { World } from './world.ts';

const SUCCEEDED = 2;
const DEAD = 3;

/** A destination with due work starts something at least so often, unless something keeps it from it. */
const PROGRESS_MS = 3_000;

/** A thousand, and a hundred that are forced. */
const WAITING_PER_DESTINATION_MAX = 1_100;

/** Finds work that waits though nothing holds it up: a lost wake-up, a stuck slot, a row never looked at again. */
export function auditProgress(world: World): void {
  const { clock, attempts, settings } = world;
  const at = clock.monotonic();
  const { waiting } = world.service.dispatcher.stats();
  if (waiting > attempts.destinations.size * WAITING_PER_DESTINATION_MAX) world.violate(`${waiting} wait in memory`);
  if (world.calmSince() > at || attempts.onWire >= settings.MAX_IN_FLIGHT) return;
  const now = clock.now();
  const sinceEvent = firstIdBytesAt(now - settings.BODY_RETENTION + 1);
  for (const { id, destinationId, dueAt, isForced } of world.view.firstUnfinished(sinceEvent)) {
    const ledger = attempts.destinations.get(destinationId)!;
    const rate = ledger.ratePerSecond();
    const patienceMs = PROGRESS_MS + (rate === null ? 0 : 1_000 / rate);
    const isHeld = !isForced && at - ledger.heldUntil({ now, monotonic: at }) < patienceMs;
    const isWaiting = now - dueAt >= patienceMs;
    const isMoving = ledger.onWire.size > 0 || at - ledger.movedAt < patienceMs;
    const isChanging = at - ledger.changedAt < patienceMs;
    const isOut = ledger.isOfTest && attempts.isFullForTest();
    if (!isWaiting || isHeld || isMoving || isChanging || isOut) continue;
    world.violate(`nothing is sent to ${destinationId} though ${id} is due since ${now - dueAt} ms`);
  }
}

/** Counts what a service does; one that spins does far more than there is to do. */
export class Meter {
  readonly #world: World;
  #before: Reading;

  constructor(world: World) {
    this.#world = world;
    this.#before = this.#read();
  }

  /** Since the last call. `looks`: for what was changed beside the service; their timers do not count. */
  take(): Reading {
    const now = this.#read();
    const since = (key: keyof Reading): number => now[key] - this.#before[key];
    const taken = {
      looks: since('looks'),
      timers: since('timers'),
      refills: since('refills'),
      payloadReads: since('payloadReads'),
      records: since('records'),
      starts: since('starts'),
    };
    this.#before = now;
    return taken;
  }

  #read(): Reading {
    const { calls } = this.#world.service.slowStore;
    const [configuration, files] = [calls['readEnvironments'] ?? 0, calls['findTrouble'] ?? 0];
    const operations = calls['readRunningOperations'] ?? 0;
    return {
      looks: configuration + operations + files,
      // Each look has its interval; those at the configuration and at the operations are slow calls besides.
      timers: this.#world.clock.fired - 3 * (configuration + operations) - files,
      refills: calls['refill'] ?? 0,
      payloadReads: calls['readPayloads'] ?? 0,
      records: calls['recordResults'] ?? 0,
      starts: this.#world.attempts.starts,
    };
  }
}

type Reading = {
  looks: number;
  timers: number;
  refills: number;
  payloadReads: number;
  records: number;
  starts: number;
};

/** At rest: every promise is kept, and the history is the receivers' log. */
export function auditEnd(world: World, clients: Clients): void {
  for (const [id, eventId] of clients.promised) {
    const age = world.clock.latest() - idTime(eventId);
    const row = world.view.delivery(id);
    if (row !== undefined) for (const fault of faultsOf(row, world, clients)) world.violate(`${id}: ${fault}`);
    else if (age < world.settings.ROW_RETENTION) world.violate(`${id} is lost: promised, but not stored`);
  }
}

function* faultsOf(row: DeliveryRow, world: World, clients: Clients): Generator<string> {
  const results = world.attempts.results.get(row.id) ?? [];
  const codes = results.map(({ responseCode }) => responseCode);
  const hasSucceeded = results.some(({ outcome }) => outcome === 'succeeded');
  if (row.status === SUCCEEDED && !hasSucceeded) yield 'it reads succeeded, but nothing arrived';
  if (row.status === DEAD) {
    const isLegal = {
      exhausted: results.length > 0,
      gone: codes.includes(410),
      destination_deleted: world.attempts.destinations.get(row.destinationId)!.mayBeDeleted(),
      expired: row.completedAt! - idTime(row.eventId) >= world.settings.BODY_RETENTION,
      backlog_full: clients.bornDead.has(row.id),
    }[row.deadReason as string];
    if (isLegal !== true) yield `it is dead for no reason (${row.deadReason})`;
  }
  // A success that came too late for its destination only adds to the history.
  const isTooLate = row.deadReason === 'destination_deleted';
  const isStoredSuccess = world.view.attempts(row.id).some(({ outcome }) => outcome === 'succeeded');
  if (isStoredSuccess && row.status !== SUCCEEDED && !isTooLate) yield 'it arrived, but does not read succeeded';
  yield* faultsOfHistory(row, world, results);
}

function* faultsOfHistory(row: DeliveryRow, world: World, results: { startedAt: number; outcome: string }[]) {
  const history = world.view.attempts(row.id);
  if (history.length !== row.attemptCount)
    yield `attempt_count is ${row.attemptCount}, the history has ${history.length}`;
  const known = world.recorded.get(row.id) ?? 0;
  if (row.attemptCount < known) yield `${known} attempts were recorded, ${row.attemptCount} are there`;
  // A crash takes what is not recorded yet; a stop only what it aborts.
  const aborted = world.restarts === 0 ? 0 : results.filter(({ outcome }) => outcome === 'cancelled').length;
  const fewest = world.hasLostResults ? 0 : results.length - aborted;
  if (row.attemptCount < fewest || row.attemptCount > results.length) {
    yield `${results.length} attempts were made, ${row.attemptCount} are there`;
  }
  let next = 0;
  for (const { started_at: startedAt, outcome } of history) {
    while (next < results.length && !(results[next]!.startedAt === startedAt && results[next]!.outcome === outcome))
      next++;
    if (next++ >= results.length) yield `its history has an attempt that was never made (${outcome} at ${startedAt})`;
  }
}
