// One HTTP/1.1 response, read as its bytes come and bounded in every direction: whatever it hides its bytes in, it is
// over soon.
import {
  RESPONSE_BODY_KEPT_BYTES_MAX,
  RESPONSE_BODY_READ_BYTES_MAX,
  RESPONSE_HEADER_BYTES_MAX,
  SUCCESS_BODY_KEPT_BYTES_MAX,
} from '../model/attempt.ts';
import { KeptBody } from './kept-body.ts';
import { createBody } from './response-body.ts';
import type { ResponseBody } from './response-body.ts';
import { ResponseFault } from './response-fault.ts';
import { HeadReader, keptAliveMs } from './response-head.ts';
import type { ResponseHead } from './response-head.ts';

/** For everything but the headers, the body and the shortest framing of its chunks. */
const PADDING_BYTES_MAX = 32_768;
/** A body in chunks of one byte is six times as long on the wire: past this its rest is of no interest, either. */
const RESPONSE_BYTES_MAX = RESPONSE_HEADER_BYTES_MAX + RESPONSE_BODY_READ_BYTES_MAX + PADDING_BYTES_MAX;
/** A receiver has little to say before its response; a flood would keep us busy until the deadline. */
const INTERIM_RESPONSES_MAX = 16;
const SWITCHING_PROTOCOLS = 101;

export class ResponseReader {
  /** Of the final response; null until all of its head is here. */
  head: ResponseHead | null = null;
  /** For how many ms the connection can be used again once the response is complete; 0: not at all. */
  keptAliveMs = 0;
  bytesRead = 0;
  #headReader = new HeadReader();
  #body: ResponseBody | null = null;
  #kept: KeptBody | null = null;
  #interimCount = 0;

  get isComplete(): boolean {
    return this.#body !== null && this.#body.isComplete;
  }

  /** What is kept of the body; null until all of the head is here. */
  get body(): Uint8Array | null {
    return this.#kept === null ? null : this.#kept.toBytes();
  }

  /** There was more of the body than is kept. */
  get isBodyCut(): boolean {
    return this.#kept !== null && this.#kept.isCut;
  }

  /** Returns how many of the bytes belong to the response: all, unless it is complete. Throws ResponseFault. */
  read(bytes: Buffer): number {
    this.bytesRead += bytes.length;
    let at = 0;
    while (at < bytes.length && !this.isComplete) {
      at = this.#body === null ? this.#readHead(bytes, at) : this.#body.read(bytes, at);
    }
    if (!this.isComplete) this.#refuseFlood();
    return at;
  }

  /** The other side says no more. True: that was the end of the response. */
  end(): boolean {
    return this.#body !== null && this.#body.isUntilClose;
  }

  #readHead(bytes: Buffer, from: number): number {
    const end = this.#headReader.read(bytes, from);
    const { head } = this.#headReader;
    if (head === null) return end;
    if (head.code >= 200) this.#beginBody(head);
    else this.#passInterim(head);
    return end;
  }

  #beginBody(head: ResponseHead): void {
    const kept = new KeptBody(head.code < 300 ? SUCCESS_BODY_KEPT_BYTES_MAX : RESPONSE_BODY_KEPT_BYTES_MAX);
    const body = createBody(head, kept);
    this.head = head;
    this.#kept = kept;
    this.#body = body;
    this.keptAliveMs = body.isUntilClose ? 0 : keptAliveMs(head);
  }

  /** Also "100 Continue", though nobody asked for it: a client has to put up with that (RFC 9110, 15.2). */
  #passInterim({ code }: ResponseHead): void {
    const isUnwanted = code === SWITCHING_PROTOCOLS || ++this.#interimCount > INTERIM_RESPONSES_MAX;
    if (isUnwanted) throw new ResponseFault('interim_unwanted');
    this.#headReader = new HeadReader();
  }

  #refuseFlood(): void {
    const { wireBytes } = this.#body ?? { wireBytes: 0 };
    const padding = this.bytesRead - this.#headReader.headerBytes - wireBytes;
    if (padding > PADDING_BYTES_MAX) throw new ResponseFault('padded');
    const isLong = this.#kept !== null && this.#kept.offered >= RESPONSE_BODY_READ_BYTES_MAX;
    if (isLong || this.bytesRead > RESPONSE_BYTES_MAX) throw new ResponseFault('body_limit');
  }
}
