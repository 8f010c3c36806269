// Spans as OpenTelemetry exports them: OTLP over HTTP, in batches, from a bounded queue. The only file that knows the
// packages, and loaded only when traces are asked for. Where to send them, with which headers, how long to wait, and
// what the service is called there are read by the packages themselves, from the standard OTEL_… environment.
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, type HrTime, type SpanContext } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace';
import type { TraceSettings } from './settings.ts';
import type { Span, SpanName, SpanSink } from './tracer.ts';

export type Exporting = SpanSink & {
  /** Sends what is left; bounded by the exporter's own time-out. */
  close(): Promise<void>;
};

const KINDS: Record<SpanName, SpanKind> = {
  accept: SpanKind.SERVER,
  replay: SpanKind.SERVER,
  delivery: SpanKind.PRODUCER,
  attempt: SpanKind.CLIENT,
};

type Origin = Pick<ReadableSpan, 'resource' | 'instrumentationScope'>;

type ExportingOptions = {
  settings: TraceSettings;
  version: string;
  /** Milliseconds; never goes back. */
  monotonic: () => number;
  /** Called at most once a minute; with the spans that were dropped since. */
  onDropped: (dropped: number, error: string) => void;
};

export function createExporting({ settings, version, monotonic, onDropped }: ExportingOptions): Exporting {
  const processor = new BatchSpanProcessor({
    exporter: tellOfFailures(new OTLPTraceExporter(), { monotonic, onDropped }),
    maxQueueSize: settings.queueMax,
    maxExportBatchSize: Math.min(settings.batchMax, settings.queueMax),
    scheduledDelayMillis: settings.delayMs,
  });
  const own = resourceFromAttributes({ 'service.name': 'postrider', 'service.version': version });
  const resource = defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }));
  const origin: Origin = { resource, instrumentationScope: { name: 'postrider', version } };
  const sampler = new TraceIdRatioBasedSampler(settings.ratio);
  return {
    isSampled(traceId, parent) {
      if (settings.isParentBased && parent !== null) return parent.isSampled;
      return sampler.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED;
    },
    end: (span) => processor.onEnd(toReadable(span, origin)),
    // Spans that are dropped at the end have been told of, like all before.
    close: () => processor.shutdown().catch(() => undefined),
  };
}

const TOLD_EVERY_MS = 60_000;

type Telling = Pick<ExportingOptions, 'monotonic' | 'onDropped'>;

/** The packages drop what cannot be sent without a word: a mistyped address would show only by what is missing. */
function tellOfFailures(exporter: SpanExporter, { monotonic, onDropped }: Telling): SpanExporter {
  let toldAt = -Infinity;
  let dropped = 0;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        done(result);
        if (result.error === undefined) return;
        dropped += spans.length;
        if (monotonic() - toldAt < TOLD_EVERY_MS) return;
        onDropped(dropped, describe(result.error));
        toldAt = monotonic();
        dropped = 0;
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}

/** The message of what Node reports for a name with several addresses is empty; it has a code. */
function describe(error: Error & { code?: unknown }): string {
  return error.message === '' && typeof error.code === 'string' ? error.code : error.message;
}

function toReadable(span: Span, origin: Origin): ReadableSpan {
  const { traceId, spanId, parentSpanId, startedAt, endedAt, error, attributes } = span;
  const context: SpanContext = { traceId, spanId, traceFlags: TraceFlags.SAMPLED };
  const parent = parentSpanId === null ? null : { ...context, spanId: parentSpanId, isRemote: span.isParentRemote };
  return {
    ...origin,
    name: span.name,
    kind: KINDS[span.name],
    spanContext: () => context,
    ...(parent === null ? {} : { parentSpanContext: parent }),
    startTime: toHrTime(startedAt),
    endTime: toHrTime(endedAt),
    duration: toHrTime(Math.max(0, endedAt - startedAt)),
    status: error === null ? { code: SpanStatusCode.UNSET } : { code: SpanStatusCode.ERROR, message: error },
    attributes,
    links: [],
    events: [],
    ended: true,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** Seconds, and nanoseconds below them. */
function toHrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.round((ms - seconds * 1_000) * 1e6)];
}
