// Holds every request that reaches a receiver against what the service promises: never two of one delivery at a time,
// within the destination's limits, not while it is paused, held or deleted, not before it is due.
import type { Instant } from '../../src/runtime/clock.ts';
import type { AttemptResult } from '../../src/model/attempt.ts';
import { idTime } from '../../src/model/id.ts';
import type { DatabaseView } from './database-view.ts';
import { DestinationLedger } from './destination-ledger.ts';
import type { Exchange } from './receivers.ts';
import type { VirtualClock } from './virtual-clock.ts';

export type AttemptLedgerOptions = {
  clock: VirtualClock;
  view: DatabaseView;
  slots: () => number;
  /** Monotonic: since when the store, the clock and the process have been undisturbed. */
  calmSince: () => number;
  bodyRetentionMs: number;
  onViolation: (message: string) => void;
};

const LATE_MS = 1_000;
const RETRY_AFTER_MAX_MS = 24 * 3_600_000;

export class AttemptLedger {
  readonly destinations = new Map<string, DestinationLedger>();
  /** By delivery: what came back, in order. */
  readonly results = new Map<string, AttemptResult[]>();
  /** Starts since the beginning. */
  starts = 0;
  onWire = 0;
  #crowdedAt = Number.NEGATIVE_INFINITY;
  readonly #options: AttemptLedgerOptions;

  constructor(options: AttemptLedgerOptions) {
    this.#options = options;
  }

  /** After every commit that may have changed a destination. */
  noteCommitted(id: string): void {
    const version = this.#options.view.destination(id);
    if (version === undefined) return;
    const known = this.destinations.get(id);
    if (known === undefined) this.destinations.set(id, new DestinationLedger(id, version));
    else known.noteCommitted(version, this.#options.clock.monotonic());
  }

  restart(): void {
    this.onWire = 0;
    for (const [id, ledger] of this.destinations) {
      const version = this.#options.view.destination(id);
      if (version !== undefined) ledger.restart(version, this.#instant());
    }
  }

  /** src/dispatch/slots.ts */
  isFullForTest(): boolean {
    const ofTest = [...this.destinations.values()].filter(({ isOfTest }) => isOfTest);
    return ofTest.reduce((sum, { onWire }) => sum + onWire.size, 0) >= Math.floor((this.#options.slots() * 3) / 4);
  }

  noteStart(exchange: Exchange): void {
    const { clock, view, onViolation } = this.#options;
    const row = view.delivery(exchange.deliveryId);
    if (row === undefined) return onViolation(`an attempt of ${exchange.deliveryId}, which is not stored`);
    const ledger = this.destinations.get(row.destinationId)!;
    ledger.noteLimits(this.#instant());
    // With this one: the next is given no slot then that it has not earned.
    if (this.onWire + 1 >= this.#options.slots() / 2) this.#crowdedAt = clock.monotonic();
    for (const fault of this.#faultsOfStart(exchange, row, ledger)) {
      const { status, dueAt, isForced, attemptCount } = row;
      onViolation(
        `${fault}: ${exchange.deliveryId} to ${ledger.id} ${JSON.stringify({ status, dueAt, isForced, attemptCount })}`,
      );
    }
    ledger.onWire.add(exchange.deliveryId);
    ledger.noteLimits(this.#instant());
    ledger.movedAt = clock.monotonic();
    this.starts++;
    this.onWire++;
  }

  noteEnd(exchange: Exchange, result: AttemptResult): void {
    this.onWire--;
    const results = this.results.get(exchange.deliveryId) ?? [];
    this.results.set(exchange.deliveryId, results);
    results.push(result);
    // Its row may have been pruned while it was on the wire, so it is looked for everywhere.
    for (const ledger of this.destinations.values()) {
      if (!ledger.onWire.has(exchange.deliveryId)) continue;
      this.#noteResult(ledger, exchange.url, result);
      ledger.onWire.delete(exchange.deliveryId);
    }
  }

  #noteResult(ledger: DestinationLedger, url: string, { outcome, responseCode, retryAfterAt }: AttemptResult): void {
    const { clock } = this.#options;
    ledger.movedAt = clock.monotonic();
    const isOverload = responseCode === null || responseCode === 429 || responseCode >= 500;
    ledger.noteResult(outcome === 'succeeded' ? 'success' : isOverload ? 'overload' : 'other');
    ledger.noteLimits(this.#instant());
    if (responseCode === 429 && retryAfterAt !== null) {
      ledger.hold(url, Math.min(retryAfterAt, clock.now() + RETRY_AFTER_MAX_MS), this.#instant());
    }
  }

  #faultsOfStart(
    exchange: Exchange,
    row: NonNullable<ReturnType<DatabaseView['delivery']>>,
    ledger: DestinationLedger,
  ): string[] {
    const { clock, slots, bodyRetentionMs } = this.#options;
    const now = clock.now();
    const rate = ledger.ratePerSecond();
    const latest = { now: clock.latest(), monotonic: clock.monotonic() };
    const heldMs = ledger.heldUntilAt(exchange.url, latest) - latest.monotonic;
    const checks: [isFault: boolean, fault: string][] = [
      [ledger.onWire.has(exchange.deliveryId), 'two attempts of one delivery at a time'],
      [row.status > 1 && !ledger.mayBeDeleted(), 'an attempt of a finished delivery'],
      [ledger.mustBeDeleted(), 'an attempt to a deleted destination'],
      [ledger.mustBePaused() && !row.isForced, 'an attempt to a paused destination'],
      // The wall clock shows whole milliseconds.
      [heldMs >= 1 && !row.isForced, `an attempt during a Retry-After of ${heldMs} ms more`],
      [ledger.onWire.size >= ledger.maxInFlight(), `more than ${ledger.maxInFlight()} on the wire`],
      [this.onWire >= slots(), `more than ${slots()} on the wire in all`],
      [ledger.isOfTest && this.isFullForTest(), 'more than three quarters of the slots for test mode'],
      [!ledger.takeToken(clock.monotonic()), `more starts than ${rate} a second`],
      // A first attempt is due at once, whatever a clock that was set back makes of its id.
      [
        row.dueAt !== null && row.dueAt > clock.latest() && row.attemptCount > 0,
        `an attempt before it is due, now ${now}`,
      ],
      [this.#isLate(row.dueAt, ledger), `late, though nothing limits it: now ${now}`],
      [row.attemptCount + 1 !== exchange.attempt, `it says it is attempt ${exchange.attempt}`],
      [!ledger.mayHaveUrl(exchange.url), `an attempt to ${exchange.url}`],
      [idTime(exchange.eventId) <= now - bodyRetentionMs, 'an attempt of an expired event'],
      [!isWhole(exchange), 'another body than was posted'],
    ];
    return checks.filter(([isFault]) => isFault).map(([, fault]) => fault);
  }

  #instant(): Instant {
    const { clock } = this.#options;
    return { now: clock.now(), monotonic: clock.monotonic() };
  }

  #isLate(dueAt: number | null, ledger: DestinationLedger): boolean {
    if (dueAt === null || dueAt === 0) return false;
    const { calmSince } = this.#options;
    const at = this.#instant();
    const dueAtMonotonic = Math.max(at.monotonic + dueAt - at.now, ledger.heldUntil(at));
    const lateMs = at.monotonic - dueAtMonotonic;
    const limitedAt = Math.max(ledger.limitedAt, ledger.changedAt, this.#crowdedAt, calmSince());
    return lateMs > LATE_MS && limitedAt < dueAtMonotonic;
  }
}

/** Events are posted with bodies that say of themselves what they are. */
export function bodyText(n: number): string {
  return `{"n": ${n}, "kind":"k${n % 3}","exact":12345678901234567890.10, "text":"\\u00e9${'x'.repeat(n % 50)}"}`;
}

function isWhole({ payload, eventId }: Exchange): boolean {
  const text = Buffer.from(payload).toString();
  const n = Number(/"data":\{"n": (\d+),/.exec(text)?.[1]);
  return text.startsWith(`{"id":"${eventId}","type":"`) && text.endsWith(`,"data":${bodyText(n)}}`);
}
