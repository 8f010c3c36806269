// A connection to a receiver, for one exchange after the other. What comes goes to the exchange that is under way; what
// comes while there is none costs the connection.
// And what such an exchange is stopped by (Aborter).
import type { Socket } from 'node:net';
import { PIECE_BYTES_MAX, type Hearer, type Intake } from './intake.ts';
import type { TlsStream } from './tls-stream.ts';

/** What a connection tells the exchange on it. */
export interface Incoming {
  /** Bytes have come, to be read now. Returns how many of them are the exchange's; if not all, it is over. */
  read(bytes: Buffer): number;
  /** The other side has closed its side. */
  ended(): void;
  /** The connection is gone; null: without an error. */
  lost(error: Error | null): void;
}

/** Whom a connection may be used for. */
export type Place = { readonly environment: number; readonly origin: string };

/** What a host was connected by: `socket` for what it is to be sent, over TLS where there is `tls`. */
export type Link = { readonly socket: Socket; readonly intake: Intake; readonly tls: TlsStream | null };

export class Connection implements Hearer {
  readonly place: Place;
  /** Has carried an exchange before this one: it may have been closed at the other end meanwhile. */
  isReused = false;
  /** For how many ms the receiver keeps it from the end of the last exchange; 0: it does not. */
  keptAliveMs = Number.POSITIVE_INFINITY;
  readonly #link: Link;
  #exchange: Incoming | null = null;

  constructor(link: Link, place: Place) {
    this.#link = link;
    this.place = place;
    if (link.tls === null) link.intake.hear(this);
    else this.#hearTls(link.socket, link.tls);
  }

  get socket(): Socket {
    return this.#link.socket;
  }

  /** More has come than the exchange was about; it is to be read yet. */
  get hasUnread(): boolean {
    return this.#link.intake.hasUnread;
  }

  /** From now on this exchange hears what comes. */
  begin(exchange: Incoming): void {
    (this.#link.tls ?? this.#link.intake).begin();
    this.#exchange = exchange;
  }

  /** The exchange is over. */
  finish(): void {
    this.#exchange = null;
  }

  #hearTls(socket: Socket, tls: TlsStream): void {
    let lastError: Error | null = null;
    socket.on('data', (bytes: Buffer) => {
      tls.credit(bytes.length);
      for (let at = 0; at < bytes.length; at += PIECE_BYTES_MAX) this.heard(bytes.subarray(at, at + PIECE_BYTES_MAX));
    });
    socket.on('error', (error) => (lastError = error));
    socket.on('end', () => this.ended());
    socket.on('close', () => this.lost(lastError));
  }

  // ── Hearer ──

  heard(piece: Buffer): void {
    const taken = this.#exchange?.read(piece);
    // An endless something would be read for as long as the connection is kept, and what lies behind a response be
    // taken for the beginning of the next.
    if (taken !== piece.length) this.socket.destroy();
  }

  ended(): void {
    this.#exchange?.ended();
    this.socket.destroy();
  }

  lost(error: Error | null): void {
    this.#exchange?.lost(error);
    this.socket.destroy();
  }
}

// How an attempt on the wire is stopped from outside.

/** What an attempt sees of it; an AbortSignal has the same. */
export type Abort = Omit<Aborter, 'abort'>;

/** An AbortController and its signal in one, at a tenth of the cost: every attempt needs one, hardly any uses it. */
export class Aborter {
  aborted = false;
  #listeners: (() => void)[] = [];

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.push(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const index = this.#listeners.indexOf(listener);
    if (index >= 0) this.#listeners.splice(index, 1);
  }

  abort(): void {
    if (this.aborted) return;
    this.aborted = true;
    for (const listener of this.#listeners.splice(0)) listener();
  }
}
