// Whether two requests under one idempotency key are the same request: same type, same occurred_at as sent, and
// a body that is equal as JSON (key order and white space apart, numbers by their text).
import { hash } from 'node:crypto';
import { canonicalJson } from '../json/canonical.ts';
import type { IncomingEvent } from './incoming-event.ts';

/** SHA-256 over what must be equal. Races between equal keys are the store's to settle: the first insert wins. */
export function fingerprintOf(incoming: IncomingEvent): Uint8Array {
  const parts = [incoming.type, incoming.occurredAt?.text ?? null, canonicalJson(incoming.body.bytes)];
  return hash('sha256', JSON.stringify(parts), 'buffer');
}
