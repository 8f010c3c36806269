// The beginning of a response's body, as much of it as is kept, in memory of its own: undici's chunks are views of read
// buffers, which would be kept alive whole. One growing buffer: an array for each chunk of one byte takes a hundred.

export class KeptBody {
  /** Bytes that there were, kept or not. */
  offered = 0;
  #buffer = new Uint8Array(0);
  #bytes = 0;

  get length(): number {
    return this.#bytes;
  }

  /** Keeps what fits into `bytesMax` in all. */
  add(chunk: Uint8Array, bytesMax: number): void {
    this.offered += chunk.length;
    const kept = chunk.subarray(0, Math.max(0, bytesMax - this.#bytes));
    if (kept.length === 0) return;
    const needed = this.#bytes + kept.length;
    if (needed > this.#buffer.length) this.#growTo(this.#bytes === 0 ? needed : Math.min(2 * needed, bytesMax));
    this.#buffer.set(kept, this.#bytes);
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
