// Standard Webhooks 1.0.0, symmetric signatures: HMAC-SHA256 over "id.timestamp.payload", one per key.
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
import { createHmac } from 'node:crypto';

/** The value of `webhook-signature`: during a rotation's overlap one signature per key, newest first. */
export function signatures(
  keys: readonly Uint8Array[],
  { id, timestampSeconds, payload }: { id: string; timestampSeconds: number; payload: Uint8Array },
): string {
  const head = `${id}.${timestampSeconds}.`;
  let value = '';
  for (const key of keys) {
    const signature = createHmac('sha256', key).update(head).update(payload).digest('base64');
    value += value === '' ? `v1,${signature}` : ` v1,${signature}`;
  }
  return value;
}
