// The connection that TLS speaks on. Node would hand TLS all that comes, a megabyte in one turn of the event loop, and
// a host can make every byte of it cost: a change of keys takes 27 bytes and 40 µs, a chain of certificates whose keys
// are as slow as there are half a second, and 16 KB of requests for another handshake, in one record, two. So TLS gets
// it in pieces and within reading time, as a response without TLS is read, and little of what carries no response.
import { Duplex } from 'node:stream';
import type { Hearer, Intake } from './intake.ts';
import { ResponseFault } from './response-fault.ts';

/** Of a handshake; and of an exchange, beside the response. */
const PADDING_BYTES_MAX = 32_768;
/** Handshakes with the usual chains of certificates do not wait for reading time: thousands may begin at once. */
const HANDSHAKE_AT_ONCE_BYTES_MAX = 8_192;
/**
 * What frames a byte of a response at most: a record's head, and a block cipher's IV, MAC (SHA-384) and padding (RFC
 * 5246, 6.2.3.2). In TLS 1.3 it is 22 (RFC 8446, 5.2).
 */
const RECORD_FRAMING_BYTES = 85;

/** Of a record: its type, two bytes of a version, and its length (RFC 5246, 6.2.1). */
const RECORD_HEAD_BYTES = 5;
const HANDSHAKE = 22;
/** A request for another handshake has four bytes, and what TLS 1.2 encrypts them with; it is refused. */
const HANDSHAKE_RECORD_BYTES_MAX = 256;

export class TlsStream extends Duplex implements Hearer {
  readonly #intake: Intake;
  /** Bytes that TLS got and that are no part of a response, so far. */
  #padding = 0;
  #isHandshakeOver = false;
  readonly #recordHead = Buffer.alloc(RECORD_HEAD_BYTES);
  #recordHeadBytes = 0;
  /** Of the record that is coming. */
  #recordBytesLeft = 0;
  /** Its head has come, and nothing else of it. */
  #isAtHandshakeRecord = false;

  constructor(intake: Intake) {
    super({ allowHalfOpen: false });
    // Until its handshake begins nobody else listens, and an error without a listener would end the process.
    this.on('error', () => {});
    this.#intake = intake;
    intake.hear(this);
    intake.begin(HANDSHAKE_AT_ONCE_BYTES_MAX);
  }

  endHandshake(): void {
    this.#isHandshakeOver = true;
    this.begin();
  }

  /** What comes now belongs to another exchange. */
  begin(): void {
    this.#padding = 0;
    this.#intake.begin();
  }

  /** A record had so many bytes of a response in it. */
  credit(bytes: number): void {
    this.#padding -= bytes + RECORD_FRAMING_BYTES;
  }

  // ── Hearer ──

  heard(piece: Buffer): void {
    // What comes behind our own end is of no interest, and TLS could not answer it any more.
    if (this.destroyed || this.writableEnded) return;
    this.#padding += piece.length;
    if (this.#padding > PADDING_BYTES_MAX) return this.#refuse();
    let from = 0;
    for (let at = 0; at < piece.length;) {
      at = this.#passRecord(piece, at);
      if (!this.#isAtHandshakeRecord) continue;
      // What comes before it may be the end of the first handshake.
      this.push(Buffer.from(piece.subarray(from, at)));
      from = at;
      if (this.#isHandshakeOver && this.#recordBytesLeft > HANDSHAKE_RECORD_BYTES_MAX) return this.#refuse();
    }
    if (from < piece.length) this.push(Buffer.from(piece.subarray(from)));
  }

  ended(): void {
    this.push(null);
  }

  lost(error: Error | null): void {
    this.destroy(error ?? undefined);
  }

  /** Returns the index behind the record's head, or behind as much of the record as has come. */
  #passRecord(piece: Buffer, from: number): number {
    this.#isAtHandshakeRecord = false;
    if (this.#recordBytesLeft > 0) {
      const bytes = Math.min(this.#recordBytesLeft, piece.length - from);
      this.#recordBytesLeft -= bytes;
      return from + bytes;
    }
    this.#recordHead[this.#recordHeadBytes++] = piece[from]!;
    if (this.#recordHeadBytes === RECORD_HEAD_BYTES) {
      this.#recordHeadBytes = 0;
      this.#recordBytesLeft = this.#recordHead.readUInt16BE(3);
      this.#isAtHandshakeRecord = this.#recordHead[0] === HANDSHAKE;
    }
    return from + 1;
  }

  #refuse(): void {
    this.destroy(new ResponseFault('tls_failed', 'TOO_MUCH_BESIDE'));
  }

  // ── Duplex ──

  /** What nobody reads is padding, and bounded as such. */
  override _read(): void {}

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#intake.socket.write(bytes, unlessLost(done));
  }

  override _final(done: () => void): void {
    this.#intake.socket.end(unlessLost(done));
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#intake.socket.destroy();
    done(error);
  }
}

/** Who cannot write any more has lost the connection, and is told so once all that came before is heard (Intake). */
function unlessLost(done: () => void): (error?: Error | null) => void {
  return (error) => {
    if (error == null) done();
  };
}
