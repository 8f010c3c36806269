// The ring's bounds, and what streams that are not read hold of it: no more for two hundred of them than for one.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createIds } from '../../src/runtime/ids.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { MESSAGE_KINDS, type Message } from '../../src/stream/message.ts';
import { Ring, RING_BYTES_MAX } from '../../src/stream/ring.ts';
import { Subscriber, type Chunks } from '../../src/stream/subscriber.ts';
import { ManualClock } from '../support/manual-clock.ts';

const ids = createIds(new ManualClock(), systemRandom);

function messageOf(length: number, status = 'pending'): Message {
  const about = { destinations: ids.next('dst'), eventType: 'a.b', status } as const;
  return { id: ids.next('msg'), kind: 'delivery', ...about, data: JSON.stringify('x'.repeat(length)), bodyMembers: '' };
}

it('keeps the last 10,000, and fewer where they are large', () => {
  let dropped = 0;
  const ring = new Ring(ids.next('msg'), { isShared: () => false, onDrop: () => dropped++ });
  for (let i = 0; i < 12_000; i++) ring.append(messageOf(10));
  assert.deepEqual([ring.next - ring.first, dropped], [10_000, 2_000]);
  for (let i = 0; i < 200; i++) ring.append(messageOf(1024 * 1024));
  assert.ok(ring.bytes <= RING_BYTES_MAX);
  assert.ok(ring.next - ring.first >= 30 && ring.next - ring.first <= 32);
  assert.equal(ring.placeAfter(ring.lastDropped), ring.first);
  assert.equal(ring.placeAfter(ring.at(ring.next - 1).id), ring.next);
});

it('goes on in a cluster a second before the message, known or another node’s: there its order was another', () => {
  const clock = new ManualClock();
  const ownIds = createIds(clock, systemRandom);
  let isShared = true;
  const ring = new Ring(ownIds.next('msg'), { isShared: () => isShared, onDrop: () => {} });
  const places = [0, 1, 2, 3].map(() => {
    clock.advance(600);
    ring.append({ ...messageOf(1), id: ownIds.next('msg') });
    return ring.next - 1;
  });
  assert.equal(ring.placeAfter(ring.at(places[3]!).id), places[2]);
  assert.equal(ring.placeAfter(ownIds.next('msg')), places[2]);
  // With no other node there was no other order; an id that is not known may be of one all the same.
  isShared = false;
  assert.equal(ring.placeAfter(ring.at(places[1]!).id), places[2]);
  assert.equal(ring.placeAfter(ownIds.next('msg')), places[2]);
});

it('two hundred streams that are not read hold little, and are told how many of theirs are gone', () => {
  const subscribers: Subscriber[] = [];
  const ring = new Ring(ids.next('msg'), {
    isShared: () => false,
    onDrop: (entry, place) => {
      for (const one of subscribers) one.noteDropped(entry, place);
    },
  });
  const filter = { kinds: new Set(MESSAGE_KINDS), destinationId: null, eventType: null, status: 'dead' };
  const subscription = { environment: 1, filter, withBodies: false, lastId: null, mayGoOn: () => true };
  for (let i = 0; i < 200; i++) {
    const one = new Subscriber(subscription, ring, { now: 0, onWanted: () => {}, onEnd: () => {} });
    // Wanted once, as by a connection that then takes no more.
    one.answer.read(0);
    subscribers.push(one);
  }
  for (let i = 0; i < 40_000; i++) {
    ring.append(messageOf(1_000, i % 2 === 0 ? 'dead' : 'pending'));
    if (i % 100 === 0) {
      const chunks: Chunks = new Map();
      for (const one of subscribers) one.pump(chunks);
    }
  }
  for (const { answer } of subscribers) assert.ok(answer.readableLength <= 2 * 32_768 + 2_048);
  const [one, other] = subscribers.map(readAll);
  assert.equal(one, other);
  subscribers[0]!.pump(new Map());
  const [, missed] = /"missed":(\d+)/.exec(readAll(subscribers[0]!))!;
  const kept = ring.next - ring.first;
  assert.equal(one!.split('event: delivery').length - 1 + Number(missed) + kept / 2, 20_000);
});

it('streams that show the same at the same place get the same bytes, and those of another filter their own', () => {
  const ring = new Ring(ids.next('msg'), { isShared: () => false, onDrop: () => {} });
  const open = (status: string | null): Subscriber => {
    const filter = { kinds: new Set(MESSAGE_KINDS), destinationId: null, eventType: null, status };
    const subscription = { environment: 1, filter, withBodies: false, lastId: null, mayGoOn: () => true };
    const one = new Subscriber(subscription, ring, { now: 0, onWanted: () => {}, onEnd: () => {} });
    readAll(one);
    return one;
  };
  const [one, same, other] = [open(null), open(null), open('dead')] as const;
  for (let i = 0; i < 4; i++) ring.append(messageOf(10, i % 2 === 0 ? 'dead' : 'pending'));
  const chunks: Chunks = new Map();
  for (const each of [one, same, other]) each.pump(chunks);
  const [bytes, sameBytes, otherBytes] = [one, same, other].map(({ answer }) => answer.read() as Buffer);
  assert.equal(bytes, sameBytes);
  assert.deepEqual(
    [bytes, otherBytes].map((text) => text!.toString().split('event: delivery').length - 1),
    [4, 2],
  );
});

function readAll({ answer }: Subscriber): string {
  let text = '';
  for (;;) {
    const piece = answer.read() as Buffer | null;
    if (piece === null) return text;
    text += piece.toString();
  }
}
