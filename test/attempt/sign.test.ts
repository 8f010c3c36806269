// Signatures against the two published libraries: whatever we sign they accept, whatever is changed they refuse.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { signatures } from '../../src/attempt/sign.ts';
import { verify } from './attempting.ts';

const key = fc.uint8Array({ minLength: 24, maxLength: 64 });
// The libraries take text; a payload is JSON, so valid UTF-8.
const payload = fc.json().map((text) => new TextEncoder().encode(text));
const id = fc.stringMatching(/^evt_[0-9a-z]{26}$/);

function headersOf(signed: { id: string; timestampSeconds: number }, signature: string): Record<string, string> {
  return {
    'webhook-id': signed.id,
    'webhook-timestamp': String(signed.timestampSeconds),
    'webhook-signature': signature,
  };
}

test('both libraries accept every signature, under each key of an overlap', () => {
  fc.assert(
    fc.property(fc.array(key, { minLength: 1, maxLength: 2 }), payload, id, (keys, body, eventId) => {
      const signed = { id: eventId, timestampSeconds: Math.floor(Date.now() / 1000), payload: body };
      const value = signatures(keys, signed);
      assert.match(value, /^v1,\S+( v1,\S+)?$/);
      for (const each of keys) verify({ headers: headersOf(signed, value), body: Buffer.from(body) }, each);
    }),
  );
});

test('a change of id, time, payload or key is refused', () => {
  const key1 = new Uint8Array(32).fill(1);
  const signed = { id: 'evt_a', timestampSeconds: Math.floor(Date.now() / 1000), payload: new Uint8Array([123, 125]) };
  const value = signatures([key1], signed);
  const refuses = (change: Partial<typeof signed>, by = key1): void => {
    const changed = { ...signed, ...change };
    const request = { headers: headersOf(changed, value), body: Buffer.from(changed.payload) };
    assert.throws(() => verify(request, by), { message: /signature/i });
  };
  refuses({ id: 'evt_b' });
  refuses({ timestampSeconds: signed.timestampSeconds - 1 });
  refuses({ payload: new Uint8Array([123, 32, 125]) });
  refuses({}, new Uint8Array(32).fill(2));
  verify({ headers: headersOf(signed, value), body: Buffer.from(signed.payload) }, key1);
});

test('the specification’s own example', () => {
  // standard-webhooks, spec, "Signature scheme"; the same vector is in the libraries' tests.
  const secret = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64');
  const signed = {
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestampSeconds: 1_614_265_330,
    payload: new TextEncoder().encode('{"test": 2432232314}'),
  };
  assert.equal(signatures([secret], signed), 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
});

test('every text gets the signature that Node computes, whatever was signed before it', () => {
  const longest = fc
    .constantFrom(0, 1, 63, 64, 4_000, 4_096, 9_000, 262_144)
    .map((bytes) => new Uint8Array(bytes).fill(97));
  const text = fc.record({ key, id, payload: fc.oneof(longest, fc.uint8Array({ maxLength: 300 })) });
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 5 }), (texts) => {
      for (const { key: one, id: eventId, payload: bytes } of texts) {
        const hmac = createHmac('sha256', one).update(`${eventId}.7.`).update(bytes).digest('base64');
        assert.equal(signatures([one], { id: eventId, timestampSeconds: 7, payload: bytes }), `v1,${hmac}`);
      }
    }),
    { numRuns: 50 },
  );
});

test('no keys give no signature', () => {
  assert.equal(signatures([], { id: 'evt_a', timestampSeconds: 1, payload: new Uint8Array() }), '');
});
