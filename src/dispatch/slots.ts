// How many attempts may be under way, over all destinations, and who gets the last of them.

/** The last quarter of the slots is for destinations that have hardly anything on the wire. */
const SHARED_PART = 3 / 4;
const SCARCE_IN_FLIGHT_MAX = 2;
/** Results that wait to be stored count too: what we learn must not pile up in memory. */
const UNSETTLED_PER_SLOT = 2;

export class Slots {
  readonly #max: number;
  #onWire = 0;
  #unsettled = 0;
  #onWireFree: (() => void) | null = null;

  constructor(max: number) {
    this.#max = max;
  }

  get onWire(): number {
    return this.#onWire;
  }

  isFree(): boolean {
    return this.#onWire < this.#max && this.#unsettled < UNSETTLED_PER_SLOT * this.#max;
  }

  /** `inFlightCount`: what the destination that would take a slot has on the wire. */
  mayTake(inFlightCount: number): boolean {
    return this.#onWire < this.#max * SHARED_PART || inFlightCount <= SCARCE_IN_FLIGHT_MAX;
  }

  take(): void {
    this.#onWire++;
    this.#unsettled++;
  }

  /** The request has ended; its result is still to be stored. */
  leaveWire(): void {
    this.#onWire--;
    if (this.#onWire === 0) this.#onWireFree?.();
  }

  settle(): void {
    this.#unsettled--;
  }

  /** Resolves when nothing is on the wire any more. To be called once, when nothing more is started. */
  wireFree(): Promise<void> {
    if (this.#onWire === 0) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onWireFree = resolve;
    return promise;
  }
}
