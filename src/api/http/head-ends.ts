// Cuts what a connection sends so that no piece completes the heads of two requests. Every head ends with an empty
// line; an empty line may be in a body as well, and then a piece is only shorter than it could be.

const EMPTY_LINE = Buffer.from('\r\n\r\n');
const EMPTY_LINE_CODE = 0x0d0a0d0a;

export class HeadEnds {
  /** The last bytes of the piece before, for an empty line that began there; 0 once it is complete. */
  #tail = 0;

  /** Where the piece that begins at `from` ends. Each piece is asked for once, in order. */
  next(chunk: Buffer, from: number): number {
    const first = this.#findEnd(chunk, from);
    if (first === -1) {
      for (let at = Math.max(from, chunk.length - 3); at < chunk.length; at++) this.#shiftIn(chunk[at]!);
      return chunk.length;
    }
    this.#tail = 0;
    // The usual request is all there is: its head and its body go together.
    if (chunk.indexOf(EMPTY_LINE, first) !== -1) return first;
    for (let at = Math.max(first, chunk.length - 3); at < chunk.length; at++) this.#shiftIn(chunk[at]!);
    return chunk.length;
  }

  #findEnd(chunk: Buffer, from: number): number {
    if (this.#tail !== 0) {
      let window = this.#tail;
      for (let at = from; at < Math.min(from + 3, chunk.length); at++) {
        window = (window << 8) | chunk[at]! | 0;
        if (window === EMPTY_LINE_CODE) return at + 1;
      }
    }
    const found = chunk.indexOf(EMPTY_LINE, from);
    return found === -1 ? -1 : found + EMPTY_LINE.length;
  }

  #shiftIn(byte: number): void {
    this.#tail = ((this.#tail << 8) | byte) & 0xffffff;
  }
}
