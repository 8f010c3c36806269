// A socket to a vetted address, or the reason why there is none: resolve → vet → connect → handshake, within one
// budget. The address that was vetted is the one connected to: Node gets it as a literal and looks nothing up.
import { constants } from 'node:crypto';
import { isIP, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, DEFAULT_CIPHERS, type SecureContext } from 'node:tls';
import type { Outcome } from '../model/attempt.ts';
import type { Mode } from '../model/api-key.ts';
import type { Clock, Timer } from '../runtime/clock.ts';
import type { Abort, Link } from './connection.ts';
import { NoDescriptors, saysNoneLeft } from './descriptors.ts';
import { explainDns, explainTcp, explainTls, inSeconds } from './explain.ts';
import { canonicalAddress, type Guard } from './guard.ts';
import { Intake, TcpSocket } from './intake.ts';
import type { ReadingTime } from './reading-time.ts';
import { DnsError, type Resolver } from './resolver.ts';
import { ResponseFault } from './response-fault.ts';
import type { Target } from './target.ts';
import { TlsStream } from './tls-stream.ts';

type ConnectFailure = Extract<
  Outcome,
  'dns_failed' | 'blocked' | 'connect_failed' | 'tls_failed' | 'timed_out' | 'cancelled'
>;

/** `message` is for the destination's owner and names no address. */
export class ConnectError extends Error {
  readonly outcome: ConnectFailure;
  constructor(outcome: ConnectFailure, message: string) {
    super(message);
    this.outcome = outcome;
  }
}

type ConnectOptions = {
  target: Target;
  mode: Mode;
  budgetMs: number;
  abort?: Abort | undefined;
  /** A TLS session to resume, and where to put the next one. */
  session?: Buffer | undefined;
  onSession?: ((session: Buffer) => void) | undefined;
};

/** A connection (for https: TLS, verified), its errors listened to; rejects with ConnectError or NoDescriptors. */
export type Connect = (options: ConnectOptions) => Promise<Link>;

export const CONNECT_MS_MAX = 5_000;
/** RFC 8305, section 5: the next address gets its chance while a slow one is still being tried. */
const NEXT_ADDRESS_MS = 250;
const ADDRESSES_TRIED_MAX = 6;
/** Where there is no IPv6, say, which explains nothing if the host refused at its IPv4 address. */
const OF_OUR_SIDE = new Set(['ENETUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT']);
/** Each is an object with its timers, a call of the system, and soon an event for all of them in the same turn. */
const SOCKETS_PER_TURN = 16;
/** Each takes a millisecond or two. */
const HANDSHAKES_PER_TURN = 4;
/** What a hostile host could keep this thread busy with. */
const TLS_OPTIONS = {
  // In DHE the host chooses the prime: with one of 10,000 bits a handshake takes a second. Browsers have given it up.
  ciphers: `${DEFAULT_CIPHERS}:!DHE`,
  // TLS 1.2 lets a host ask for another handshake, and another, on a connection that is in use.
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
} as const;
/** Session tickets of one connection; servers send two or four. Each takes as long as a small response. */
const SESSIONS_MAX = 16;

export function createConnect(parts: {
  guard: Guard;
  resolver: Resolver;
  clock: Clock;
  readingTime: ReadingTime;
}): Connect {
  const { guard, resolver, clock, readingTime } = parts;
  const [sockets, handshakes] = [createPace(clock, SOCKETS_PER_TURN), createPace(clock, HANDSHAKES_PER_TURN)];
  // Made at the first use (it reads all root certificates, NODE_EXTRA_CA_CERTS among them) and then shared.
  let secureContext: SecureContext | undefined;

  const findAddresses = async (run: Run, { target, mode }: ConnectOptions): Promise<string[]> => {
    const { hostname, port } = target;
    run.phase = 'resolving the host name';
    const addresses = isIP(hostname) > 0 ? [hostname] : await run.within(resolver.resolve(hostname).catch(refuseDns));
    const vetted = guard.vetAddresses({ addresses, mode, hostname: target.url.hostname, port });
    if (vetted.length === 0) throw new ConnectError('blocked', BLOCKED);
    return vetted.slice(0, ADDRESSES_TRIED_MAX);
  };

  const connectWithin = async (run: Run, options: ConnectOptions): Promise<Link> => {
    const addresses = await findAddresses(run, options);
    run.phase = 'connecting';
    await run.within(sockets());
    const tcp = await run.within(connectFirst(run, addresses, options.target));
    const intake = new Intake(tcp, readingTime);
    if (!options.target.isHttps) return { socket: tcp, intake, tls: null };
    const tls = new TlsStream(intake);
    run.phase = 'the TLS handshake';
    secureContext ??= createSecureContext(TLS_OPTIONS);
    await run.within(handshakes());
    const socket = await run.within(shakeHands(run, { tcp, tls }, { ...options, secureContext }));
    return { socket, intake, tls };
  };

  return async (options) => {
    const fault = guard.checkUrl(options.target.url, options.mode);
    if (fault !== null) throw new ConnectError('blocked', fault);
    const run = new Run(clock, options);
    let link: Link | undefined;
    try {
      link = await connectWithin(run, options);
      return link;
    } finally {
      run.end(link?.socket);
    }
  };
}

/**
 * A thousand destinations may need a connection at the same moment: some begin in each turn of the event loop, so that
 * nothing else waits for all of them. Those that hang keep nobody back.
 */
function createPace(clock: Clock, perTurn: number): () => Promise<void> {
  let waiting: (() => void)[] = [];
  const startSome = (): void => {
    for (const start of waiting.slice(0, perTurn)) start();
    waiting = waiting.slice(perTurn);
    if (waiting.length > 0) clock.afterTurn(startSome);
  };
  return () =>
    new Promise((resolve) => {
      if (waiting.push(resolve) === 1) clock.afterTurn(startSome);
    });
}

const BLOCKED = 'the host name leads to an address that is not publicly reachable';

function refuseDns(error: unknown): never {
  if (error instanceof NoDescriptors) throw error;
  throw new ConnectError('dns_failed', explainDns(error instanceof DnsError ? error.failure : 'unavailable'));
}

/** One connect under way: its budget, and every socket that must not outlive it. */
class Run {
  phase = '';
  isOver = false;
  readonly clock: Clock;
  readonly #sockets = new Set<Socket>();
  readonly #timer: Timer;
  readonly #abort: Abort | undefined;
  readonly #expired: Promise<never>;
  #expire: (error: ConnectError) => void = () => {};

  constructor(clock: Clock, { budgetMs, abort }: ConnectOptions) {
    this.clock = clock;
    this.#expired = new Promise((_, reject) => (this.#expire = reject));
    // It may expire while nobody waits for it.
    this.#expired.catch(() => {});
    this.#timer = clock.setTimer(() => this.#timeOut(budgetMs), budgetMs);
    this.#abort = abort;
    abort?.addEventListener('abort', this.#cancel);
    if (abort?.aborted === true) this.#cancel();
  }

  readonly #cancel = (): void => this.#expire(new ConnectError('cancelled', 'stopped while connecting'));

  #timeOut(budgetMs: number): void {
    this.#expire(new ConnectError('timed_out', `${this.phase} took longer than ${inSeconds(budgetMs)}`));
  }

  within<T>(step: Promise<T>): Promise<T> {
    return Promise.race([step, this.#expired]);
  }

  add(socket: Socket): void {
    // Without a listener a late error would end the process. A TLS error after the handshake (an alert that a client
    // certificate is missing, say) does not close the socket by itself, and its attempt would wait for the deadline.
    socket.on('error', () => socket.destroy());
    this.#sockets.add(socket);
  }

  /** From now on `wrapper` closes `socket` with itself. */
  replace(socket: Socket, wrapper: Socket): void {
    this.#sockets.delete(socket);
    this.add(wrapper);
  }

  drop(socket: Socket): void {
    this.#sockets.delete(socket);
    socket.destroy();
  }

  end(result: Socket | undefined): void {
    this.isOver = true;
    this.#timer.cancel();
    this.#abort?.removeEventListener('abort', this.#cancel);
    for (const socket of this.#sockets) if (socket !== result) socket.destroy();
  }
}

/** The first of the addresses that answers. A refusal moves on at once, silence after 250 ms. */
function connectFirst(run: Run, addresses: readonly string[], { port }: Target): Promise<TcpSocket> {
  return new Promise((resolve, reject) => {
    const waiting = [...addresses];
    let trying = 0;
    /** Why the addresses so far failed. */
    let reason: string | undefined;
    let timer: Timer | undefined;
    const tryNext = (): void => {
      timer?.cancel();
      // Past the end nobody would close what is opened here.
      const address = run.isOver ? undefined : waiting.shift();
      if (address === undefined) return;
      trying++;
      const socket = new TcpSocket();
      run.add(socket.connect({ host: address, port }));
      const onError = (error: NodeJS.ErrnoException): void => fail(socket, error);
      socket.once('error', onError);
      socket.once('connect', () => succeed(socket.off('error', onError), address));
      if (waiting.length > 0) timer = run.clock.setTimer(tryNext, NEXT_ADDRESS_MS);
    };
    const succeed = (socket: TcpSocket, address: string): void => {
      timer?.cancel();
      // One that fails later must not try the next. The others are closed with the run.
      waiting.length = 0;
      // Whatever led us elsewhere, it was not vetted. (None at all: the peer is gone again, as sending will show.)
      const isElsewhere = socket.remoteAddress !== undefined && canonicalAddress(socket.remoteAddress) !== address;
      if (isElsewhere) reject(new ConnectError('blocked', BLOCKED));
      else resolve(socket);
    };
    const fail = (socket: Socket, error: NodeJS.ErrnoException): void => {
      run.drop(socket);
      trying--;
      if (reason === undefined || OF_OUR_SIDE.has(reason)) reason = error.code;
      if (saysNoneLeft(error.code)) reject(new NoDescriptors());
      else if (waiting.length > 0) tryNext();
      else if (trying === 0) reject(new ConnectError('connect_failed', explainTcp(reason, port)));
    };
    tryNext();
  });
}

/** Verifies the certificate against the system's roots and the host's name; no way around that. */
function shakeHands(
  run: Run,
  { tcp, tls }: { tcp: TcpSocket; tls: TlsStream },
  options: ConnectOptions & { secureContext: SecureContext },
): Promise<Socket> {
  const { target, session, secureContext, onSession } = options;
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException | null): void => {
      const code = error instanceof ResponseFault ? error.detail! : (error?.code ?? 'ECONNRESET');
      reject(new ConnectError('tls_failed', explainTls(code)));
    };
    // The host was gone, or refused, before it was this handshake's turn.
    if (tls.destroyed) return fail(tls.errored);
    const socket = connectTls({
      socket: tls,
      // Without a server name Node checks the certificate against the host: right for an address.
      host: target.hostname,
      servername: target.serverName,
      secureContext,
      ALPNProtocols: ['http/1.1'],
      // NODE_TLS_REJECT_UNAUTHORIZED=0, for a database perhaps, would hold here, too.
      rejectUnauthorized: true,
      ...(session === undefined ? {} : { session }),
    });
    run.replace(tcp, socket);
    let sessions = 0;
    socket.on('session', (ticket: Buffer) => {
      if (++sessions > SESSIONS_MAX) socket.destroy(new ResponseFault('tls_failed', 'TOO_MANY_TICKETS'));
      else onSession?.(ticket);
    });
    socket.once('secureConnect', () => {
      tls.endHandshake();
      resolve(socket);
    });
    socket.once('error', fail);
  });
}
