// Payloads: the envelope byte for byte, a cache that keeps to its budget, and reads that go together.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { buildPayload, Payloads, type Payload } from '../../src/dispatch/payloads.ts';
import { formatId, type EventId } from '../../src/model/id.ts';
import type { EventPayload } from '../../src/store/store.ts';
import { settle } from '../sim/virtual-clock.ts';

const idOf = (n: number): EventId =>
  formatId(
    'evt',
    Uint8Array.from({ length: 16 }, (_, i) => (i >= 13 ? (n >> (8 * (15 - i))) & 0xff : 0)),
  );

function eventOf(n: number, body = '{}'): EventPayload {
  const occurredAt = Date.UTC(2026, 0, 31, 9, 30);
  return { id: idOf(n), type: 'order.paid', occurredAt, traceparent: null, body: Buffer.from(body) };
}

/** A store with these events, whose reads end when the test says so. */
function heldPayloads(events: EventPayload[], budgetBytes: number) {
  const reads: { ids: EventId[]; end: (error?: Error) => void }[] = [];
  const readPayloads = (ids: EventId[]): Promise<EventPayload[]> =>
    new Promise((resolve, reject) => {
      const end = (error?: Error): void =>
        error === undefined ? resolve(events.filter(({ id }) => ids.includes(id))) : reject(error);
      reads.push({ ids, end });
    });
  return { payloads: new Payloads({ readPayloads }, budgetBytes), reads };
}

describe('a payload', () => {
  test('is the envelope around the body as it was posted', () => {
    const body = ' {"b":1.0, "a":12345678901234567890,"é":"\\ud800"} ';
    assert.equal(
      Buffer.from(buildPayload(eventOf(1), Buffer.from(body))).toString(),
      `{"id":"${idOf(1)}","type":"order.paid","timestamp":"2026-01-31T09:30:00.000Z","data":${body}}`,
    );
  });

  test('is JSON for any body', () => {
    fc.assert(
      fc.property(fc.json(), (body) => {
        const payload = JSON.parse(Buffer.from(buildPayload(eventOf(1), Buffer.from(body))).toString()) as {
          data: unknown;
        };
        assert.deepEqual(payload.data, JSON.parse(body));
      }),
    );
  });
});

const SOON = { uses: 1, mayStay: false };

describe('the cache', () => {
  test('keeps what was put in until as many deliveries are done as wanted it', async () => {
    const { payloads, reads } = heldPayloads([eventOf(1)], 1_000);
    payloads.put(eventOf(1), Buffer.from('{}'), SOON);
    payloads.put(eventOf(1), Buffer.from('{}'), SOON);
    payloads.done(idOf(1));
    assert.ok(!(payloads.get(idOf(1)) instanceof Promise));
    payloads.done(idOf(1));
    const read = payloads.get(idOf(1));
    assert.ok(read instanceof Promise);
    await settle();
    reads[0]!.end();
    assert.ok((await read) !== null);
    assert.ok(!(payloads.get(idOf(1)) instanceof Promise), 'what was read is kept for the second of two');
    payloads.done(idOf(1));
    payloads.done(idOf(1));
    assert.ok(payloads.get(idOf(1)) instanceof Promise, 'and no longer');
  });

  test('gives what was put in without reading', () => {
    const { payloads, reads } = heldPayloads([], 1_000);
    payloads.put(eventOf(1), Buffer.from('{"a":1}'), SOON);
    assert.match(Buffer.from((payloads.get(idOf(1)) as Payload).bytes).toString(), /"data":\{"a":1\}\}$/);
    assert.equal(reads.length, 0);
  });

  test('has memory of its own where it may stay: a part of Node’s pool would keep all of that', () => {
    const { payloads } = heldPayloads([], 1_000);
    payloads.put(eventOf(1), Buffer.from('{}'), { uses: 1, mayStay: true });
    const { bytes } = payloads.get(idOf(1)) as Payload;
    assert.equal(bytes.buffer.byteLength, bytes.length);
  });

  test('never holds more bytes than its budget, whatever goes in; the oldest go first', () => {
    const size = (n: number): number => buildPayload(eventOf(0), Buffer.alloc(n)).length;
    fc.assert(
      fc.property(fc.array(fc.nat(400), { maxLength: 60 }), (lengths) => {
        const budget = 1_000;
        const { payloads } = heldPayloads([], budget);
        lengths.forEach((length, n) => payloads.put(eventOf(n), Buffer.alloc(length, 0x20), SOON));
        const kept = lengths.map((_, n) => !(payloads.get(idOf(n)) instanceof Promise));
        const keptBytes = lengths.filter((_, n) => kept[n]).reduce((sum, length) => sum + size(length), 0);
        assert.ok(keptBytes <= budget);
        // What is kept is the longest end of the list that fits: nothing younger than a kept one was dropped.
        const oldest = kept.indexOf(true);
        if (oldest >= 0) assert.ok(kept.slice(oldest).every(Boolean));
        if (oldest > 0) assert.ok(keptBytes + size(lengths[oldest - 1]!) > budget);
      }),
    );
  });

  test('never holds more than 100,000, however small they are', () => {
    const { payloads } = heldPayloads([], Number.MAX_SAFE_INTEGER);
    for (let n = 0; n <= 100_000; n++) payloads.put(eventOf(n), Buffer.from('1'), SOON);
    assert.ok(payloads.get(idOf(0)) instanceof Promise);
    assert.ok(!(payloads.get(idOf(1)) instanceof Promise));
  });

  test('does not keep what is larger than all of it', async () => {
    const { payloads, reads } = heldPayloads([eventOf(1, `"${'x'.repeat(500)}"`)], 100);
    payloads.put(eventOf(1), Buffer.from(`"${'x'.repeat(500)}"`), SOON);
    const reading = payloads.get(idOf(1));
    assert.ok(reading instanceof Promise);
    await settle();
    reads[0]!.end();
    assert.ok((await reading)!.bytes.length > 500);
    await settle();
    assert.ok(payloads.get(idOf(1)) instanceof Promise, 'it is read again');
    await settle();
    reads[1]!.end();
  });
});

describe('reading', () => {
  test('what is asked for together is read together, each event once', async () => {
    const { payloads, reads } = heldPayloads([eventOf(1), eventOf(2)], 1_000);
    const asked = [payloads.get(idOf(1)), payloads.get(idOf(2)), payloads.get(idOf(1))];
    await settle();
    assert.deepEqual(
      reads.map(({ ids }) => ids),
      [[idOf(1), idOf(2)]],
    );
    const later = payloads.get(idOf(3));
    await settle();
    assert.equal(reads.length, 1, 'one read at a time');
    reads[0]!.end();
    const [first, , again] = await Promise.all(asked);
    assert.equal(first, again);
    await settle();
    assert.deepEqual(reads[1]!.ids, [idOf(3)]);
    reads[1]!.end();
    assert.equal(await later, null, 'its body has been erased');
    assert.ok(!(payloads.get(idOf(1)) instanceof Promise), 'it is kept');
  });

  test('a great many are read in parts', async () => {
    const { payloads, reads } = heldPayloads([], 1_000);
    const asked = Array.from({ length: 150 }, (_, n) => payloads.get(idOf(n)));
    for (let i = 0; i < 3; i++) {
      await settle();
      reads[i]!.end();
    }
    await Promise.all(asked);
    assert.deepEqual(
      reads.map(({ ids }) => ids.length),
      [64, 64, 22],
    );
  });

  test('that fails fails for those who asked, and the next one reads again', async () => {
    const { payloads, reads } = heldPayloads([eventOf(1)], 1_000);
    const failing = [payloads.get(idOf(1)), payloads.get(idOf(1))];
    await settle();
    reads[0]!.end(new Error('away'));
    for (const { status } of await Promise.allSettled(failing)) assert.equal(status, 'rejected');
    const again = payloads.get(idOf(1));
    await settle();
    reads[1]!.end();
    assert.ok((await again) !== null);
  });
});
