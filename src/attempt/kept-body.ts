// The beginning of a response's body, as much of it as is kept, in memory of its own: chunks from the network are views
// of read buffers, which would be kept alive whole. One growing buffer: an array for each chunk of one byte takes a
// hundred.

const NOTHING = new Uint8Array(0);

export class KeptBody {
  /** Bytes that there were, kept or not. */
  offered = 0;
  readonly #bytesMax: number;
  #buffer = NOTHING;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get isCut(): boolean {
    return this.offered > this.#bytes;
  }

  /** Keeps what fits. */
  add(chunk: Buffer, from: number, to: number): void {
    this.offered += to - from;
    const end = Math.min(to, from + this.#bytesMax - this.#bytes);
    if (end <= from) return;
    const needed = this.#bytes + end - from;
    if (needed > this.#buffer.length) this.#growTo(this.#bytes === 0 ? needed : Math.min(2 * needed, this.#bytesMax));
    // Not `chunk.copy`: called with a short array as its target, V8 first moves that out of its own heap.
    this.#buffer.set(chunk.subarray(from, end), this.#bytes);
    this.#bytes = needed;
  }

  #growTo(bytes: number): void {
    const larger = new Uint8Array(bytes);
    larger.set(this.#buffer);
    this.#buffer = larger;
  }

  /** Without spare room: posting an array to the store's thread copies all of its memory. */
  toBytes(): Uint8Array {
    return this.#bytes === this.#buffer.length ? this.#buffer : this.#buffer.slice(0, this.#bytes);
  }
}
