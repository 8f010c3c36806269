// Ids of traces and spans, each derived from the id of what it is about: every node, after every restart, names the
// trace of an event and the spans of a delivery alike, and nothing is kept for traces but the event's traceparent.
import { hash } from 'node:crypto';
import { idBytes, type EventId } from '../model/id.ts';

type TraceParent = { traceId: string; spanId: string; isSampled: boolean };

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const SAMPLED = 1;

/** Null: the caller is then taken to have sent none (W3C Trace Context, 3.2.2; a later version may say more behind). */
export function parseTraceparent(header: string): TraceParent | null {
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(header) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return null;
  if (/^0+$/.test(traceId!) || /^0+$/.test(spanId!)) return null;
  return { traceId: traceId!, spanId: spanId!, isSampled: (Number.parseInt(flags!, 16) & SAMPLED) !== 0 };
}

export function formatTraceparent({ traceId, spanId, isSampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

/** The trace of an event that came with none: 16 bytes, as hex. */
export function traceIdOf(id: EventId): string {
  return idBytes(id).toHex();
}

/** `subject`: an event's id, a delivery's, or `<delivery>/<attempt>`. 8 bytes, as hex. */
export function spanIdOf(subject: string): string {
  return hash('sha256', subject).slice(0, 16);
}
