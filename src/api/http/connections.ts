// All connections of the server: who is told of which, who is too slow to read what was asked for, how they end, and
// the one budget of memory that they are charged to.
import { once } from 'node:events';
import type { Server, IncomingMessage, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import type { FastifyReply } from 'fastify';
import { delay, type Clock, type Timer } from '../../runtime/clock.ts';
import { Exchanges, startWork, type Exchange } from './exchanges.ts';
import { OF_ENDLESS_ANSWERS, TakePace } from './take-pace.ts';
import { Turns } from './turns.ts';

const LOOK_INTERVAL_MS = 1_000;
/** How long a connection that nobody waits for is kept at closing, for a request that is on its way. */
const LAST_REQUESTS_MS = 250;
/** Requests that are not answered this long after the beginning of closing are cut off. */
const DRAIN_TIMEOUT_MS = 10_000;

export class Connections {
  readonly memory: MemoryBudget;
  /** The server is closing: a request that begins now is refused. */
  isDraining = false;
  readonly #clock: Clock;
  readonly #all = new Map<Socket, Connection>();

  constructor({ clock, bytesBudget }: { clock: Clock; bytesBudget: number }) {
    this.#clock = clock;
    this.memory = new MemoryBudget({ bytesBudget, clock, connections: () => this.#all.values() });
  }

  /** To be told of the server before it listens. */
  watch(server: Server): void {
    let timer: Timer | null = null;
    const look = (): void => {
      const now = this.#clock.monotonic();
      for (const connection of this.#all.values()) connection.look(now);
      timer = this.#clock.setTimer(look, LOOK_INTERVAL_MS);
    };
    server.on('listening', look);
    server.on('close', () => timer?.cancel());
    server.on('connection', (socket: Socket) => {
      this.#all.set(socket, new Connection(socket, { memory: this.memory, clock: this.#clock }));
      socket.once('close', () => this.#all.delete(socket));
    });
  }

  /** Undefined for a request that is tried without a socket. */
  of(socket: Socket): Connection | undefined {
    return this.#all.get(socket);
  }

  /**
   * Closing without cutting anyone off: connections end when they are answered, or 10 s later. Node alone would wait
   * for ever for one that never sent a request, or does not finish it. Those that nobody waits for are kept a moment:
   * ended at once, a busy caller's next request, which is on its way, would be reset instead of refused.
   */
  async drain(server: Server): Promise<void> {
    this.isDraining = true;
    // Not by HTTP's own `close`, which ends them at once.
    NetServer.prototype.close.call(server);
    this.#clock.setTimer(() => {
      for (const socket of this.#all.keys()) socket.destroy();
    }, DRAIN_TIMEOUT_MS);
    for (const connection of this.#all.values()) connection.beginLast();
    await Promise.race([once(server, 'close'), delay(this.#clock, LAST_REQUESTS_MS)]);
    for (const connection of this.#all.values()) if (!connection.beginLast()) connection.socket.destroy();
  }
}

// One connection: the requests under way on it, what it makes us hold, and its end. Every way to an end is bounded in
// time: a socket that nobody destroys keeps its descriptor for as long as the caller likes.

/** What a request under way takes: its objects, and a short answer. */
const REQUEST_BYTES = 8_192;
/** A connection that is refused has this long to read the answers to what it asked before ... */
const REFUSED_MS = 30_000;
/** ... and this long to read the refusal. Destroyed at once, the socket would be reset and the refusal lost. */
const LINGER_MS = 5_000;

/** What all connections of a server share. */
type Parts = { memory: MemoryBudget; clock: Clock };

export class Connection {
  readonly socket: Socket;
  /** Bytes, by MemoryBudget. */
  charged = 0;
  /** When `charged` rose from 0, or a caller that is slow last kept up; monotonic. */
  chargedSince = 0;
  /** Refuses the body that is being received, while one is. */
  refuseBody: (() => void) | null = null;
  /** Nothing that still comes is looked at. */
  isShut = false;
  readonly exchanges = new Exchanges();
  #pace: TakePace;
  readonly #parts: Parts;
  readonly #turns: Turns;
  #onAnswered: (() => void) | null = null;
  #endTimer: Timer | null = null;

  constructor(socket: Socket, parts: Parts) {
    this.socket = socket;
    this.#parts = parts;
    this.#pace = new TakePace(socket);
    this.#turns = new Turns(this, parts.clock);
    socket.once('close', () => {
      this.#endTimer?.cancel();
      this.#letGo();
    });
  }

  /** Whether one more request may begin, or the one that is being received go on. */
  get mayRead(): boolean {
    const request = this.exchanges.newest?.request;
    // A body that nobody takes would be kept in pieces as small as the caller likes to make them.
    const isTaken = request === undefined || request.complete || request.readableFlowing === true;
    return isTaken && this.exchanges.mayBegin;
  }

  /** `start` is called now, or when it is the request's turn. */
  begin(request: IncomingMessage, response: ServerResponse, start: () => void): void {
    // The answer before it is the connection's last, and said so: what gets no answer may have no effect either (RFC
    // 9112, section 9.6).
    if (this.exchanges.haveLast) {
      request.resume();
      return;
    }
    const exchange: Exchange = { request, response, bytes: 0, reply: null, start, goOn: null };
    const { areNone: isAlone, mayBegin } = this.exchanges;
    this.exchanges.add(exchange);
    const hasRoom = this.#holdFor(exchange, REQUEST_BYTES);
    response.on('close', () => this.#end(exchange));
    if (!isAlone || request.headers['transfer-encoding'] !== undefined) this.#turns.begin();
    if (mayBegin) startWork(exchange);
    // The first read may have brought hundreds at once. They wait, but not where there is no room for them.
    else if (!hasRoom) this.socket.destroy();
  }

  /**
   * Counts what an answer takes until the caller has taken it; less than nothing, where it is not sent after all.
   * False: there is no room for so much.
   */
  chargeAnswer(response: ServerResponse, bytes: number): boolean {
    const exchange = this.exchanges.of(response);
    return exchange === undefined || this.#holdFor(exchange, bytes);
  }

  /** The answer under way has no end of its own: it ends when the caller, who may have gone, ends the caller's side. */
  beginEndless(): void {
    this.#pace = new TakePace(this.socket, OF_ENDLESS_ANSWERS);
    this.socket.once('end', () => this.socket.end());
  }

  /** False: there is no room for so much. */
  charge(bytes: number): boolean {
    return this.#parts.memory.charge(this, bytes);
  }

  refund(bytes: number): void {
    this.#parts.memory.refund(this, bytes);
  }

  /** Whether it is the caller that is waited for: to go on sending, or to read. */
  isWaitingForCaller(): boolean {
    return this.refuseBody !== null || this.socket.writableLength > 0;
  }

  /** Frees at once what is charged to it. */
  yieldRoom(): void {
    if (this.refuseBody !== null) return this.refuseBody();
    this.#letGo();
    this.socket.destroy();
  }

  /** The request that is being received, if work on it has begun. */
  get unfinished(): FastifyReply | null {
    const { newest } = this.exchanges;
    return newest === undefined || newest.request.complete ? null : newest.reply;
  }

  /** The server is closing: a request that is being answered is the last. False: there is none. */
  beginLast(): boolean {
    const reply = this.exchanges.latestReply;
    if (reply === null || reply.raw.writableFinished) return false;
    if (!reply.raw.headersSent) reply.header('connection', 'close');
    return true;
  }

  /** Every second: a caller that does not read its answers is cut off. */
  look(now: number): void {
    const pace = this.#pace.judge(now);
    if (pace === 'took enough') this.chargedSince = now;
    if (pace === 'too slow') this.socket.destroy();
  }

  /** Calls back, once, when all that was requested is answered; now, if nothing is left. */
  whenAnswered(callback: () => void): void {
    const { newest } = this.exchanges;
    // What the callback writes is the answer to a request that broke off before its turn.
    if (newest !== undefined && newest.start !== null && !newest.request.complete) this.#end(newest);
    if (this.exchanges.areNone) callback();
    else this.#onAnswered = callback;
  }

  /** What is under way may still be answered. What comes is thrown away, but read: so the caller's end is noticed. */
  shut(): void {
    this.isShut = true;
    this.#turns.begin();
    this.#endWithin(REFUSED_MS);
    this.socket.resume();
  }

  /** The last byte is written: the connection ends when the caller ends it as well, or time is up. */
  end(): void {
    this.shut();
    this.#endWithin(LINGER_MS);
    this.socket.end();
  }

  /** Of all but a body that is being received: its reader lets go of that when the request ends. */
  #letGo(): void {
    for (const { bytes } of this.exchanges.take()) this.refund(bytes);
    this.#turns.stop();
  }

  #endWithin(delayMs: number): void {
    this.#endTimer?.cancel();
    if (this.socket.destroyed) return;
    this.#endTimer = this.#parts.clock.setTimer(() => this.socket.destroy(), delayMs);
  }

  #holdFor(exchange: Exchange, bytes: number): boolean {
    exchange.bytes += bytes;
    return this.charge(bytes);
  }

  #end(exchange: Exchange): void {
    // The connection ended before, and with it all that was held.
    if (!this.exchanges.remove(exchange)) return;
    this.refund(exchange.bytes);
    this.exchanges.goOn();
    if (this.exchanges.areNone) this.#onAnswered?.();
    this.#turns.next();
  }
}

// One budget for all that connections make the service keep in memory: bodies being received, bytes that wait to be
// parsed, answers that wait to be read. When the budget is used up, the connection that has been waited for longest
// with the most gives way, and new requests are refused.

/** Who has been waited for less than this makes no room: a burst ends in refusals, not in cut connections. */
const PATIENCE_MS = 1_000;

class MemoryBudget {
  #charged = 0;
  readonly #budget: number;
  readonly #clock: Clock;
  readonly #connections: () => Iterable<Connection>;

  constructor(options: { bytesBudget: number; clock: Clock; connections: () => Iterable<Connection> }) {
    this.#budget = options.bytesBudget;
    this.#clock = options.clock;
    this.#connections = options.connections;
  }

  get isOver(): boolean {
    return this.#charged > this.#budget;
  }

  /** Counts bytes that are in memory already. False: they are too many, and no room could be made for them. */
  charge(connection: Connection, bytes: number): boolean {
    if (connection.charged === 0) connection.chargedSince = this.#clock.monotonic();
    connection.charged += bytes;
    this.#charged += bytes;
    if (this.isOver && bytes > 0) this.#makeRoom();
    return !this.isOver;
  }

  refund(connection: Connection, bytes: number): void {
    connection.charged -= bytes;
    this.#charged -= bytes;
  }

  #makeRoom(): void {
    const now = this.#clock.monotonic();
    const costOf = ({ charged, chargedSince }: Connection): number => charged * (now - chargedSince);
    const candidates = [...this.#connections()]
      .filter(
        (connection) =>
          now - connection.chargedSince >= PATIENCE_MS && connection.charged > 0 && connection.isWaitingForCaller(),
      )
      .sort((a, b) => costOf(a) - costOf(b));
    while (this.isOver && candidates.length > 0) candidates.pop()!.yieldRoom();
  }
}
