// An event as it came in, checked in shape and not yet accepted; and whether two such are the same request.
import { hash } from 'node:crypto';
import { canonicalJson } from '../json/canonical.ts';

export type EventBody = {
  /** Exactly as posted. */
  bytes: Uint8Array;
  /** The value, for filters; parsed when first asked for. */
  parse(): unknown;
};

export type IncomingEvent = {
  environment: number;
  type: string;
  body: EventBody;
  idempotencyKey: string | null;
  /** As sent, and what it means in Unix ms; null: the time of submission. */
  occurredAt: { text: string; time: number } | null;
  traceparent: string | null;
};

/**
 * SHA-256 over what requests under one idempotency key must have in common: the type, occurred_at as sent, and a body
 * that is equal as JSON (key order and white space apart, numbers by their text). Races between equal keys are the
 * store's to settle: the first insert wins.
 */
export function fingerprintOf(incoming: IncomingEvent): Uint8Array {
  const parts = [incoming.type, incoming.occurredAt?.text ?? null, canonicalJson(incoming.body.bytes)];
  return hash('sha256', JSON.stringify(parts), 'buffer');
}
