// What one destination may get now, derived from what its owner was told, not from the dispatcher: between a change
// and its confirmation either version may be followed, after it only the new one.
import type { Instant } from '../../src/runtime/clock.ts';
import type { DestinationRow } from './database-view.ts';

/** The environment of test mode. */
const TEST = 2;

/** More are on its wire only once answers have earned that: src/dispatch/in-flight.ts. */
const WINDOW_MIN = 20;

export class DestinationLedger {
  readonly id: string;
  readonly isOfTest: boolean;
  /** Deliveries on the wire, of this process. */
  readonly onWire = new Set<string>();
  /** Of each url, by the wall clock, and the same moment by the monotonic one: it is over when either says so. */
  readonly #holds = new Map<string, { until: number; endsAt: number }>();
  /** Monotonic: when an attempt last started or ended. */
  movedAt = Number.NEGATIVE_INFINITY;
  /** Monotonic: when something last kept it from starting what was due. */
  limitedAt = Number.NEGATIVE_INFINITY;
  /** After trouble it is slowed down, for so many successes at most. */
  #slowedFor = 0;
  /** Monotonic: when it was last changed, or the change confirmed. */
  changedAt = Number.NEGATIVE_INFINITY;
  /** Committed versions that may be in force, oldest first; the last is the newest. */
  #versions: DestinationRow[];
  #bucket: Bucket | null = null;

  constructor(id: string, version: DestinationRow) {
    this.id = id;
    this.isOfTest = version.environment === TEST;
    this.#versions = [version];
  }

  noteCommitted(version: DestinationRow, at: number): void {
    this.changedAt = at;
    this.#versions.push(version);
  }

  /** Call before catching up; call the result when that is done: what was committed before is in force then. */
  confirmer(): (at: number) => void {
    const newest = this.#versions.at(-1)!;
    return (at) => {
      this.changedAt = at;
      const index = this.#versions.indexOf(newest);
      if (index > 0) this.#versions = this.#versions.slice(index);
    };
  }

  /** The service says that it follows this version now; what was before is over. */
  noteFollowed(version: Omit<DestinationRow, 'environment' | 'isDeleted' | 'heldUntil'>, at: number): void {
    const index = this.#versions.findLastIndex(
      ({ isPaused, maxInFlight, ratePerSecond, url }) =>
        isPaused === version.isPaused &&
        maxInFlight === version.maxInFlight &&
        ratePerSecond === version.ratePerSecond &&
        url === version.url,
    );
    if (index > 0) this.#versions = this.#versions.slice(index);
    this.changedAt = at;
  }

  /** A new process: the stored version is in force, the buckets are full. */
  restart(version: DestinationRow, at: Instant): void {
    this.#versions = [version];
    this.onWire.clear();
    this.#slowedFor = 0;
    this.#holds.clear();
    this.hold(version.url, version.heldUntil, at);
    this.#bucket = null;
  }

  /** The receiver at this url wants nothing until then, by the wall clock. */
  hold(url: string, until: number, { now, monotonic }: Instant): void {
    const endsAt = monotonic + until - now;
    if (endsAt > Math.max(monotonic, this.heldUntilAt(url, { now, monotonic })))
      this.#holds.set(url, { until, endsAt });
  }

  /** Monotonic; by what has said so of the urls that it may have now. */
  heldUntil(at: Instant): number {
    return Math.max(...this.#versions.map(({ url }) => this.heldUntilAt(url, at)));
  }

  heldUntilAt(url: string, { now, monotonic }: Instant): number {
    const { until, endsAt } = this.#holds.get(url) ?? { until: 0, endsAt: Number.NEGATIVE_INFINITY };
    return Math.min(endsAt, monotonic + until - now);
  }

  noteResult(outcome: 'success' | 'overload' | 'other'): void {
    if (outcome === 'overload') this.#slowedFor = this.maxInFlight() + 10;
    if (outcome === 'success') this.#slowedFor--;
  }

  /** To be called often: remembers when something other than its own work limited it. */
  noteLimits(at: Instant): void {
    const isFull = this.onWire.size >= Math.min(WINDOW_MIN, this.maxInFlight() / 2);
    const isHeld = this.heldUntil(at) > at.monotonic || this.mayBePaused() || this.#versions.length > 1;
    if (isFull || isHeld || this.ratePerSecond() !== null || this.#slowedFor > 0) this.limitedAt = at.monotonic;
  }

  mayBeDeleted(): boolean {
    return this.#versions.some(({ isDeleted }) => isDeleted);
  }

  mustBeDeleted(): boolean {
    return this.#versions.every(({ isDeleted }) => isDeleted);
  }

  mustBePaused(): boolean {
    return this.#versions.every(({ isPaused }) => isPaused);
  }

  mayBePaused(): boolean {
    return this.#versions.some(({ isPaused }) => isPaused);
  }

  maxInFlight(): number {
    return Math.max(...this.#versions.map(({ maxInFlight }) => maxInFlight));
  }

  mayHaveUrl(url: string): boolean {
    return this.#versions.some((version) => version.url === url);
  }

  /** null: unlimited, or just changing. */
  ratePerSecond(): number | null {
    const [{ ratePerSecond }, ...others] = this.#versions as [DestinationRow, ...DestinationRow[]];
    return others.some((version) => version.ratePerSecond !== ratePerSecond) ? null : ratePerSecond;
  }

  /** False: one start more than the rate and its burst allow. */
  takeToken(at: number): boolean {
    const rate = this.ratePerSecond();
    if (rate === null) this.#bucket = null;
    else if (this.#bucket?.rate !== rate) this.#bucket = new Bucket(rate, at);
    return this.#bucket === null || this.#bucket.take(at);
  }
}

/** A start is decided a little before its request goes out: its body may have to be read first. */
const READING_MS = 150;

class Bucket {
  readonly rate: number;
  readonly #capacity: number;
  #tokens: number;
  #at: number;

  constructor(rate: number, at: number) {
    this.rate = rate;
    this.#capacity = Math.max(1, rate / 10) + (rate * READING_MS) / 1000;
    this.#tokens = this.#capacity;
    this.#at = at;
  }

  take(at: number): boolean {
    this.#tokens = Math.min(this.#capacity, this.#tokens + ((at - this.#at) / 1000) * this.rate);
    this.#at = at;
    this.#tokens -= 1;
    return this.#tokens >= -1e-6;
  }
}
