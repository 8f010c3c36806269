// Signing keys as Standard Webhooks has them: 32 random bytes, written `whsec_` and base64.
import type { SigningKey } from '../../model/destination.ts';
import type { Ids } from '../../runtime/ids.ts';
import type { Random } from '../../runtime/random.ts';

const SECRET_BYTES = 32;

export function makeSigningKey(options: { ids: Ids; random: Random; createdAt: number }): SigningKey {
  const { ids, random, createdAt } = options;
  return { id: ids.next('sgk'), secret: random.bytes(SECRET_BYTES), createdAt, expiresAt: null };
}

export function formatSecret(secret: Uint8Array): string {
  return `whsec_${Buffer.from(secret).toString('base64')}`;
}
