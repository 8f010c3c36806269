// Who watches what, and the one loop that serves them. While nobody watches an environment, and nobody did a minute
// ago, nothing of it is noted: then all of this costs the core one look into a map for each event.
//
// The loop takes a quarter of the time at most: of more than that can be shown streams lose some, deliveries nothing.
import type { Readable } from 'node:stream';
import { ApiError } from '../model/error.ts';
import type { Destination } from '../model/destination.ts';
import type { DestinationId, MessageId } from '../model/id.ts';
import type { Observer } from '../model/observer.ts';
import { createBreaks, type Clock, type Timer } from '../runtime/clock.ts';
import type { Store } from '../store/store.ts';
import { Channel } from './channel.ts';
import type { Exchange } from './exchange.ts';
import { Feed, type Writers } from './feed.ts';
import type { Ring } from './ring.ts';
import type { Chunks, Subscriber, Subscription } from './subscriber.ts';

const STREAMS_MAX = 200;
/** For so long after its last stream ended an environment is recorded, so that whoever comes back finds its place. */
const RESUME_WITHIN_MS = 60_000;
/** A key that is revoked ends its streams within a second; keys themselves are followed four times a second. */
const LOOK_INTERVAL_MS = 500;
/** Other nodes may watch: until they have had so long to say so, a node that has come records for them. */
const ASKED_FOR_MS = 2_000;
/** What was recorded elsewhere is taken over in turns of this. */
const TURN_MS_MAX = 4;
/** A few milliseconds' work. */
const PUMPS_MAX = 50;
/** After each step the loop rests three times as long as the step took. */
const REST_FACTOR = 3;
const REST_MS_MAX = 250;
/** Each write costs a system call after the step: so what comes gathers, the longer the more streams are served. */
const GATHER_FACTOR = 200;
const GATHER_MS_MAX = 50;

/**
 * `destination`: null where it was deleted. Only the node through which the change was made records it, and other nodes
 * read that: so the message has one id, by which a stream that is resumed on another node finds its place.
 */
type DestinationChanged = (environment: number, id: DestinationId, destination: Destination | null) => void;

type HubOptions = {
  clock: Clock;
  store: Pick<Store, 'readDeliveries'>;
  environments: readonly number[];
  write: Writers;
  nextId: () => MessageId;
  isPaused: (id: DestinationId) => boolean;
  onError: (error: unknown) => void;
  /** With the other nodes; null: there are none. */
  exchange: Exchange | null;
};

export class Hub {
  readonly observer: Observer;
  /** To be told of each change that is made through this node. */
  readonly destinationChanged: DestinationChanged;
  readonly #options: HubOptions;
  readonly #channels = new Map<number, Channel>();
  #opening = 0;
  #hasStarted = false;
  #isEnding = false;
  /** A step is under way, or will be. */
  #isAwake = false;
  #stepping: Promise<void> = Promise.resolve();
  #restUntil = Number.NEGATIVE_INFINITY;
  #looking: Timer | null = null;

  constructor(options: HubOptions) {
    this.#options = options;
    this.observer = this.#createObserver();
    this.destinationChanged = (environment, id, destination) =>
      this.#note(environment, ({ feed }) => {
        if (destination === null) feed.noteDeleted(id);
        else feed.noteDestination(destination);
      });
    // From before this node answers its first request.
    if (options.exchange !== null) this.#recordUntil(Number.POSITIVE_INFINITY);
    options.exchange?.connect({
      onWatched: (environment, until) => {
        const channel = this.#channelOf(environment);
        channel.forOthersUntil = until.recorded;
        channel.bodiesUntil = Math.max(channel.bodiesUntil, until.bodies);
      },
      onReceived: (environment, messages, lost) => {
        this.#channels.get(environment)?.append(messages, lost);
        this.#wake();
      },
    });
  }

  /** To be called when this node hears the others. */
  start(): void {
    const { clock, exchange } = this.#options;
    if (exchange === null) return;
    this.#hasStarted = true;
    this.#recordUntil(clock.monotonic() + ASKED_FOR_MS);
    exchange.start();
  }

  /** An endless answer. Rejects with ApiError `rate_limited` or `unavailable`. */
  async open(subscription: Subscription): Promise<Readable> {
    if (this.#isEnding) throw new ApiError('unavailable', 'the service is stopping', { retryAfterSeconds: 1 });
    if (this.openCount >= STREAMS_MAX) throw tooMany();
    this.#opening++;
    try {
      const { environment, withBodies } = subscription;
      const channel = this.#channelOf(environment);
      this.#extend(channel, withBodies);
      channel.preparing ??= this.#prepare(channel, withBodies);
      const ring = await channel.preparing;
      const one = channel.subscribe(subscription, ring, this.#options.clock.monotonic(), () => this.#wake());
      if (this.#isEnding) one.end();
      return one.answer;
    } finally {
      this.#opening--;
    }
  }

  /** Ends every stream at once. What happens until `close` is recorded all the same: other nodes have streams too. */
  endStreams(): void {
    this.#isEnding = true;
    for (const { subscribers } of this.#channels.values()) for (const one of subscribers) one.end();
  }

  /** Resolves when the other nodes have been left what was recorded. */
  async idle(): Promise<void> {
    const { exchange } = this.#options;
    if (exchange === null || !this.#hasStarted) return;
    await this.#stepping;
    for (const channel of this.#channels.values()) {
      while (!channel.feed.isEmpty && !channel.isPreparing) await this.#makeMessages(channel);
    }
    await exchange.idle();
  }

  close(): void {
    this.#looking?.cancel();
    this.#options.exchange?.close();
    this.#channels.clear();
  }

  /** Those that are being opened too. */
  get openCount(): number {
    return [...this.#channels.values()].reduce((sum, { subscribers }) => sum + subscribers.size, this.#opening);
  }

  #createObserver(): Observer {
    const isBodyWanted = ({ bodiesUntil }: Channel) => this.#options.clock.monotonic() < bodiesUntil;
    return {
      scheduled: (what) =>
        this.#note(what.event.environment, (channel) => channel.feed.noteScheduled(what, isBodyWanted(channel))),
      attempted: (what) => this.#note(what.delivery.environment, ({ feed }) => feed.noteAttempted(what)),
      sentAgain: ({ id, environment }) => this.#note(environment, ({ feed }) => feed.noteSentAgain(id)),
    };
  }

  #note(environment: number, tell: (channel: Channel) => void): void {
    const channel = this.#channels.get(environment);
    if (channel === undefined) return;
    tell(channel);
    this.#wake();
  }

  #recordUntil(until: number): void {
    for (const environment of this.#options.environments) this.#channelOf(environment).forOthersUntil = until;
  }

  #channelOf(environment: number): Channel {
    return this.#channels.getOrInsertComputed(environment, () => {
      const { store, write, nextId, isPaused } = this.#options;
      this.#lookLater();
      return new Channel(environment, { feed: new Feed({ environment, store, write, nextId, isPaused }), nextId });
    });
  }

  #extend(channel: Channel, withBodies: boolean): void {
    channel.watchedUntil = this.#options.clock.monotonic() + RESUME_WITHIN_MS;
    if (withBodies) channel.bodiesUntil = channel.watchedUntil;
  }

  /** With what other nodes recorded in the last minute, and with their promise to record from now on. */
  async #prepare(channel: Channel, withBodies: boolean): Promise<Ring> {
    const { exchange, clock } = this.#options;
    if (exchange === null) return (channel.ring = channel.makeRing(null, () => false));
    const { messages, isComplete, begin } = await exchange.join(channel.environment, withBodies);
    const ring = channel.makeRing(messages[0]?.id ?? null, () => !exchange.isAlone());
    const takeBreak = createBreaks(clock, TURN_MS_MAX);
    for (const message of messages) {
      ring.append(message);
      await takeBreak();
    }
    channel.ring = ring;
    if (!isComplete) channel.append([], null);
    begin();
    this.#wake();
    return ring;
  }

  // ── The loop ───────────────────────────────────────────────────────────────────────────────────────────

  #wake(): void {
    if (this.#isAwake) return;
    this.#isAwake = true;
    const { clock } = this.#options;
    const restMs = this.#restUntil - clock.monotonic();
    const step = (): void => void (this.#stepping = this.#step());
    if (restMs <= 0) clock.afterTurn(step);
    else clock.setTimer(step, restMs);
  }

  async #step(): Promise<void> {
    const { clock } = this.#options;
    let spentMs = 0;
    for (const channel of this.#channels.values()) {
      if (!channel.feed.isEmpty && !channel.isPreparing) spentMs += await this.#makeMessages(channel);
    }
    const startedAt = clock.monotonic();
    const dueAt = this.#pump(startedAt);
    const now = clock.monotonic();
    const restedAt = now + Math.min(REST_MS_MAX, REST_FACTOR * (spentMs + now - startedAt));
    this.#restUntil = restedAt;
    this.#isAwake = false;
    if (dueAt === Number.POSITIVE_INFINITY) return;
    this.#restUntil = Math.max(restedAt, dueAt);
    this.#wake();
  }

  /** Of the next notes, for the streams here and for other nodes. Returns how long that took, without the store. */
  async #makeMessages(channel: Channel): Promise<number> {
    const { clock, onError, exchange } = this.#options;
    const { lost, make } = await channel.feed.take(onError);
    const startedAt = clock.monotonic();
    const messages = make();
    channel.append(messages, lost);
    exchange?.publish(channel.environment, messages, lost);
    return clock.monotonic() - startedAt;
  }

  /** In turn: who had a chunk goes to the end. Returns when there is more to do, monotonic ms. */
  #pump(startedAt: number): number {
    const { clock } = this.#options;
    const pumped: Subscriber[] = [];
    for (const { subscribers } of this.#channels.values()) {
      const chunks: Chunks = new Map();
      for (const one of [...subscribers].filter(({ dueAt }) => dueAt <= startedAt)) {
        if (pumped.length === PUMPS_MAX) break;
        subscribers.delete(one);
        subscribers.add(one);
        one.pump(chunks);
        pumped.push(one);
      }
    }
    const now = clock.monotonic();
    const gatheredAt = now + Math.min(GATHER_MS_MAX, GATHER_FACTOR * (now - startedAt));
    for (const one of pumped) one.gatherUntil(gatheredAt);
    let dueAt = Number.POSITIVE_INFINITY;
    for (const { feed, isPreparing, subscribers } of this.#channels.values()) {
      if (!feed.isEmpty && !isPreparing) return now;
      for (const one of subscribers) dueAt = Math.min(dueAt, one.dueAt);
    }
    return dueAt;
  }

  // ── Twice a second ─────────────────────────────────────────────────────────────────────────────────────

  #lookLater(): void {
    if (this.#looking !== null) return;
    this.#looking = this.#options.clock.setTimer(() => {
      this.#looking = null;
      this.#look();
      if (this.#channels.size > 0) this.#lookLater();
    }, LOOK_INTERVAL_MS);
  }

  #look(): void {
    const now = this.#options.clock.monotonic();
    for (const channel of this.#channels.values()) {
      for (const one of channel.subscribers) {
        if (!one.subscription.mayGoOn()) one.end();
        else {
          this.#extend(channel, one.subscription.withBodies);
          one.comment(now);
        }
      }
      if (now > channel.watchedUntil) this.#stopWatching(channel);
      if (now > channel.watchedUntil && now > channel.forOthersUntil) this.#channels.delete(channel.environment);
    }
    this.#options.exchange?.look(
      [...this.#channels.values()].map(({ environment, ring, bodiesUntil }) => {
        return { environment, isWatched: ring !== null, withBodies: now < bodiesUntil };
      }),
    );
  }

  #stopWatching(channel: Channel): void {
    if (channel.ring === null) return;
    channel.ring = null;
    channel.preparing = null;
    this.#options.exchange?.leave(channel.environment);
  }
}

function tooMany(): ApiError {
  return new ApiError('rate_limited', `this process has ${STREAMS_MAX} streams open already; try again later`, {
    retryAfterSeconds: 10,
  });
}
