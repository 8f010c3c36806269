// An event as it came in, checked in shape and not yet accepted.

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
