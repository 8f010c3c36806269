// Sealed secrets open only under their key, in their place, undamaged.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { systemRandom } from '../../src/runtime/random.ts';
import { createSealer } from '../../src/runtime/sealer.ts';

const KEY = new Uint8Array(32).fill(1);

describe('a sealed secret', () => {
  const sealer = createSealer(KEY, systemRandom);

  it('opens to what it was, whatever it was', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.string(), (secret, context) => {
        const opened = sealer.open(sealer.seal(secret, context), context);
        assert.deepEqual(opened, new Uint8Array(secret));
      }),
    );
  });

  it('does not open under another key, in another place, or with any bit changed', () => {
    const secret = systemRandom.bytes(32);
    const sealed = sealer.seal(secret, 'here');
    assert.equal(createSealer(new Uint8Array(32).fill(2), systemRandom).open(sealed, 'here'), null);
    assert.equal(sealer.open(sealed, 'there'), null);
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const damaged = sealed.slice();
      damaged[bit >> 3]! ^= 1 << (bit & 7);
      assert.equal(sealer.open(damaged, 'here'), null, `bit ${bit}`);
    }
    for (let length = 0; length < sealed.length; length++)
      assert.equal(sealer.open(sealed.slice(0, length), 'here'), null);
  });

  it('looks different every time', () => {
    const secret = systemRandom.bytes(32);
    assert.notDeepEqual(sealer.seal(secret, 'here'), sealer.seal(secret, 'here'));
  });

  it('needs a key of 32 bytes', () => {
    assert.throws(() => createSealer(new Uint8Array(31), systemRandom));
  });
});
