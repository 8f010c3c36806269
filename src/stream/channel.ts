// What goes on in one environment, for those who watch it: notes become messages, and messages go into the ring, where
// streams read them. A channel without a ring is recorded for other nodes only.
import type { MessageId } from '../model/id.ts';
import type { Feed } from './feed.ts';
import type { Message } from './message.ts';
import { Ring, type Entry } from './ring.ts';
import { Subscriber, type Subscription } from './subscriber.ts';

export class Channel {
  readonly environment: number;
  readonly feed: Feed;
  readonly subscribers = new Set<Subscriber>();
  /** null: nobody watches here. */
  ring: Ring | null = null;
  preparing: Promise<Ring> | null = null;
  /** Until when it is recorded for another node, for who may resume here, and with the bodies of events; monotonic. */
  forOthersUntil = Number.NEGATIVE_INFINITY;
  watchedUntil = Number.NEGATIVE_INFINITY;
  bodiesUntil = Number.NEGATIVE_INFINITY;
  readonly #nextId: () => MessageId;

  constructor(environment: number, { feed, nextId }: { feed: Feed; nextId: () => MessageId }) {
    this.environment = environment;
    this.feed = feed;
    this.#nextId = nextId;
  }

  /** While the ring is being made: what happens meanwhile waits in the feed, for it comes after. */
  get isPreparing(): boolean {
    return this.preparing !== null && this.ring === null;
  }

  /** `origin`: the id before the first of the messages that there are already. `isShared`: with other nodes, now. */
  makeRing(origin: MessageId | null, isShared: () => boolean): Ring {
    const onDrop = (entry: Entry, place: number): void => {
      for (const one of this.subscribers) one.noteDropped(entry, place);
    };
    return new Ring(origin ?? this.#nextId(), { isShared, onDrop });
  }

  subscribe(subscription: Subscription, ring: Ring, now: number, onWanted: () => void): Subscriber {
    const onEnd = (one: Subscriber): void => void this.subscribers.delete(one);
    const one = new Subscriber(subscription, ring, { now, onWanted, onEnd });
    this.subscribers.add(one);
    return one;
  }

  /** `lost`: messages before these that are gone; null: nobody knows how many. */
  append(messages: readonly Message[], lost: number | null): void {
    if (this.ring === null) return;
    if (lost !== 0) this.ring.appendLoss({ id: this.#nextId(), missed: lost });
    for (const message of messages) this.ring.append(message);
  }
}
