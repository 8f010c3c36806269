// Signing keys as Standard Webhooks has them, written `whsec_` and base64: 32 random bytes, or a key that the caller
// brings along for a receiver that has it already.
import type { SigningKey } from '../../model/destination.ts';
import { ApiError } from '../../model/error.ts';
import type { Ids } from '../../runtime/ids.ts';
import type { Random } from '../../runtime/random.ts';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;
export const SECRET_BYTES_MIN = 24;
export const SECRET_BYTES_MAX = 64;

/** `secret`: one that was brought along; null: a new one. */
export function makeSigningKey(options: {
  ids: Ids;
  random: Random;
  createdAt: number;
  secret: Uint8Array | null;
}): SigningKey {
  const { ids, random, createdAt, secret } = options;
  return { id: ids.next('sgk'), secret: secret ?? random.bytes(SECRET_BYTES), createdAt, expiresAt: null };
}

export function formatSecret(secret: Uint8Array): string {
  return `${PREFIX}${secret.toBase64()}`;
}

/** The key of a secret that a request brings along; null: it brings none. Throws `invalid_request` without its text. */
export function readSecret(text: string | null | undefined): Uint8Array | null {
  if (text == null) return null;
  const secret = Buffer.from(text.slice(PREFIX.length), 'base64');
  // Decoding skips what is no base64; a receiver's library may not, and would then have another key.
  if (formatSecret(secret) !== text) {
    throw invalidSecret(`a signing secret is ${PREFIX} and the key in base64, padded, with + and / in its alphabet`);
  }
  if (secret.length < SECRET_BYTES_MIN || secret.length > SECRET_BYTES_MAX) {
    throw invalidSecret(
      `a signing secret has ${SECRET_BYTES_MIN} to ${SECRET_BYTES_MAX} bytes; this one has ${secret.length}`,
    );
  }
  return secret;
}

function invalidSecret(message: string): ApiError {
  return new ApiError('invalid_request', message, { param: '/signing_secret' });
}
