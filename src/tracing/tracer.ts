// An event as one trace: accept, below it a span for each delivery, below that its attempts. Spans are told when they
// have ended, from what observers hear; those of deliveries that end without an attempt (expired, deleted) are not.
import type { OpenDelivery } from '../model/delivery.ts';
import { idTime, type EventId } from '../model/id.ts';
import { endedBy, type FinishedAttempt, type Observer, type Scheduled } from '../model/observer.ts';
import type { Decision } from '../model/transitions.ts';
import { formatTraceparent, parseTraceparent, spanIdOf, traceIdOf } from './trace-ids.ts';

/** `accept` was called by the producer, `attempt` calls the destination. */
export type SpanName = 'accept' | 'replay' | 'delivery' | 'attempt';

export type Span = {
  name: SpanName;
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  /** Whether the parent is the producer's. */
  isParentRemote: boolean;
  /** Unix ms. */
  startedAt: number;
  endedAt: number;
  /** What went wrong, for people; null: nothing. */
  error: string | null;
  attributes: Record<string, string | number>;
};

/** Whatever keeps spans. Neither may throw or wait. */
export type SpanSink = {
  /** `parent`: what the producer has decided; null: the trace begins here. The same answer for a trace at any time. */
  isSampled: (traceId: string, parent: { isSampled: boolean } | null) => boolean;
  end: (span: Span) => void;
};

export type Tracer = {
  observer: Observer;
  /** What of a request's header is kept with its events; null: it is no traceparent. */
  keepTraceparent: (header: string | string[] | undefined) => string | null;
  /** What the attempt that is about to begin sends, from what its event came with; null: nothing. */
  traceparentOf: (delivery: OpenDelivery, kept: string | null) => string | null;
};

export function createTracer(sink: SpanSink, now: () => number): Tracer {
  const traceOf = (eventId: EventId, kept: string | null): Trace => {
    const parent = kept === null ? null : parseTraceparent(kept);
    const traceId = parent?.traceId ?? traceIdOf(eventId);
    return { traceId, parentSpanId: parent?.spanId ?? null, isSampled: sink.isSampled(traceId, parent) };
  };
  return {
    observer: {
      scheduled(made) {
        const trace = traceOf(made.event.id, made.event.traceparent);
        if (trace.isSampled) sink.end(toAcceptSpan(trace, made, now()));
      },
      attempted(finished) {
        const trace = traceOf(finished.delivery.eventId, finished.traceparent);
        if (!trace.isSampled) return;
        sink.end(toAttemptSpan(trace, finished));
        if (endedBy(finished) !== null) sink.end(toDeliverySpan(trace, finished, finished.decision!));
      },
    },
    keepTraceparent(header) {
      const parent = typeof header === 'string' ? parseTraceparent(header) : null;
      return parent === null ? null : formatTraceparent(parent);
    },
    traceparentOf(delivery, kept) {
      const { traceId, isSampled } = traceOf(delivery.eventId, kept);
      return formatTraceparent({ traceId, spanId: attemptSpanId(delivery), isSampled });
    },
  };
}

/** The trace that an event belongs to, its producer's or its own; `parentSpanId`: of the producer. */
type Trace = { traceId: string; parentSpanId: string | null; isSampled: boolean };

/** Of a replay: below that of the event's accept. */
function toAcceptSpan({ traceId, parentSpanId }: Trace, made: Scheduled, endedAt: number): Span {
  const { origin, event, deliveries, dueAt } = made;
  const attributes = {
    'messaging.message.id': event.id,
    'postrider.event_type': event.type,
    'postrider.deliveries': deliveries.length,
  };
  const accept = spanIdOf(event.id);
  const common = { traceId, endedAt, error: null, attributes };
  if (origin === 'event') {
    const { createdAt: startedAt } = event;
    return { ...common, name: 'accept', spanId: accept, parentSpanId, isParentRemote: true, startedAt };
  }
  const spanId = spanIdOf(`${event.id}/${deliveries[0]?.id ?? dueAt}`);
  return { ...common, name: 'replay', spanId, parentSpanId: accept, isParentRemote: false, startedAt: dueAt };
}

function toAttemptSpan({ traceId }: Trace, { delivery, trigger, result }: FinishedAttempt): Span {
  const attributes: Span['attributes'] = {
    ...attributesOf(delivery),
    'postrider.attempt': delivery.attemptCount + 1,
    'postrider.trigger': trigger,
    'postrider.outcome': result.outcome,
  };
  if (result.responseCode !== null) attributes['http.response.status_code'] = result.responseCode;
  return {
    name: 'attempt',
    traceId,
    spanId: attemptSpanId(delivery),
    parentSpanId: spanIdOf(delivery.id),
    isParentRemote: false,
    startedAt: result.startedAt,
    endedAt: result.startedAt + result.durationMs,
    error: result.error,
    attributes,
  };
}

function toDeliverySpan({ traceId }: Trace, { delivery, result }: FinishedAttempt, decision: Decision): Span {
  return {
    name: 'delivery',
    traceId,
    spanId: spanIdOf(delivery.id),
    parentSpanId: spanIdOf(delivery.eventId),
    isParentRemote: false,
    startedAt: idTime(delivery.id),
    endedAt: decision.completedAt ?? result.startedAt + result.durationMs,
    error: decision.status === 'dead' ? `dead: ${decision.deadReason}` : null,
    attributes: {
      ...attributesOf(delivery),
      'postrider.status': decision.status,
      'postrider.attempts': delivery.attemptCount + 1,
    },
  };
}

function attemptSpanId({ id, attemptCount }: OpenDelivery): string {
  return spanIdOf(`${id}/${attemptCount + 1}`);
}

function attributesOf({ id, eventId, destinationId }: OpenDelivery) {
  return {
    'messaging.message.id': eventId,
    'postrider.delivery_id': id,
    'postrider.destination_id': destinationId,
  };
}
