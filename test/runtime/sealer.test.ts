// Sealed secrets come back only under the same key, for the same place, and undamaged.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { createSealer } from '../../src/runtime/sealer.ts';
import { systemRandom } from '../../src/runtime/random.ts';

const sealer = createSealer(new Uint8Array(32).fill(1), systemRandom);
const bytes = fc.uint8Array({ maxLength: 200 });

test('what is sealed comes back, and never looks the same twice', () => {
  fc.assert(
    fc.property(bytes, fc.string(), (secret, context) => {
      const sealed = sealer.seal(secret, context);
      assert.deepEqual(sealer.open(sealed, context), secret);
      assert.notDeepEqual(sealer.seal(secret, context), sealed);
      if (secret.length >= 8) assert.equal(Buffer.from(sealed).includes(Buffer.from(secret)), false);
    }),
  );
});

test('elsewhere, under another key, damaged anywhere or cut short it does not open', () => {
  const secret = Buffer.from('a secret');
  const sealed = sealer.seal(secret, 'here');
  assert.equal(sealer.open(sealed, 'there'), null);
  assert.equal(createSealer(new Uint8Array(32).fill(2), systemRandom).open(sealed, 'here'), null);
  for (let i = 0; i < sealed.length; i++) {
    const damaged = sealed.slice();
    damaged[i]! ^= 1;
    assert.equal(sealer.open(damaged, 'here'), null, `byte ${i}`);
    assert.equal(sealer.open(sealed.slice(0, i), 'here'), null, `cut to ${i}`);
  }
});

test('a master key of another length is refused', () => {
  assert.throws(() => createSealer(new Uint8Array(16), systemRandom), /32 bytes/);
});
