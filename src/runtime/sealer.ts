// Seals secrets at rest: AES-256-GCM under the master key. The ciphertext is bound to the place it is kept in
// (`context`), so that one row's secret cannot be put into another row unnoticed.
import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { Random } from './random.ts';

export type Sealer = ReturnType<typeof createSealer>;

export const MASTER_KEY_BYTES = 32;

const ALGORITHM = 'aes-256-gcm';
/** First byte of everything sealed, so that another algorithm can follow. */
const FORMAT = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + NONCE_BYTES;

/** A random nonce of 96 bits bears 2^32 sealings under one key (NIST SP 800-38D, 8.3). */
export function createSealer(masterKey: Uint8Array, random: Random) {
  if (masterKey.length !== MASTER_KEY_BYTES) throw new Error(`a master key has ${MASTER_KEY_BYTES} bytes`);
  return {
    seal(plaintext: Uint8Array, context: string): Uint8Array {
      const nonce = random.bytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, masterKey, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(plaintext), cipher.final()]);
      return new Uint8Array(Buffer.concat([Uint8Array.of(FORMAT), nonce, body, cipher.getAuthTag()]));
    },
    /** Null: made under another key, for another context, or damaged. */
    open(sealed: Uint8Array, context: string): Uint8Array | null {
      if (sealed[0] !== FORMAT || sealed.length < HEAD_BYTES + TAG_BYTES) return null;
      const nonce = sealed.subarray(1, HEAD_BYTES);
      const decipher = createDecipheriv(ALGORITHM, masterKey, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(context));
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
      const head = decipher.update(sealed.subarray(HEAD_BYTES, -TAG_BYTES));
      try {
        return new Uint8Array(Buffer.concat([head, decipher.final()]));
      } catch {
        // The only reason `final` throws in GCM: the tag does not hold.
        return null;
      }
    },
  };
}
