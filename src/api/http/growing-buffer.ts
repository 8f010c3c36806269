// Bytes that come in pieces, in one piece of memory: a Buffer of its own for each of a body's chunks costs hundreds of
// bytes, however small a caller makes them.

const CAPACITY_MIN = 4_096;
const EMPTY = Buffer.alloc(0);

export class GrowingBuffer {
  /** Bytes so far. */
  length = 0;
  #bytes: Buffer = EMPTY;
  readonly #lengthMax: number;

  constructor(lengthMax: number) {
    this.#lengthMax = lengthMax;
  }

  /** The memory it takes. */
  get capacity(): number {
    return this.#bytes.length;
  }

  append(chunk: Buffer): void {
    const length = this.length + chunk.length;
    if (this.length === 0) this.#bytes = chunk;
    else {
      if (length > this.capacity) this.#grow(length);
      chunk.copy(this.#bytes, this.length);
    }
    this.length = length;
  }

  /** All of it, without room that was kept for more: the memory may be kept for long. */
  take(): Buffer {
    if (this.length === this.capacity) return this.#bytes;
    const bytes = this.#bytes.subarray(0, this.length);
    return this.length * 2 > this.capacity ? bytes : Buffer.from(bytes);
  }

  #grow(length: number): void {
    const capacity = Math.max(length, CAPACITY_MIN, Math.min(length * 2, this.#lengthMax));
    const bytes = Buffer.allocUnsafeSlow(capacity);
    this.#bytes.copy(bytes, 0, 0, this.length);
    this.#bytes = bytes;
  }
}
