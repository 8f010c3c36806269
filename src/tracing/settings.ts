// Whether traces are asked for, and which: the standard environment of OpenTelemetry
// (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/), as far as it is read here. Where
// they go is read by the exporter itself, from OTEL_EXPORTER_OTLP_…; what would keep all of them from going there is
// refused here, for the exporter passes over it in silence.
import { readFileSync } from 'node:fs';

// Not imported: see api/http/node-server.ts.
const { validateHeaderName, validateHeaderValue } = process.getBuiltinModule('node:http');

export type TraceSettings = {
  /** A trace that a producer has begun is sampled if and only if the producer samples it. */
  isParentBased: boolean;
  /** Of the traces that begin here, or of all if not parent-based: 0 to 1. */
  ratio: number;
  /** Spans: what is more than the queue holds is dropped, and a batch is sent when it is full or `delayMs` old. */
  queueMax: number;
  batchMax: number;
  delayMs: number;
};

type Environment = Readonly<Record<string, string | undefined>>;
type Given = { name: string; text: string };

const SAMPLERS = ['always_on', 'always_off', 'traceidratio'] as const;
const FILES = ['CERTIFICATE', 'CLIENT_CERTIFICATE', 'CLIENT_KEY'];
const COMPRESSIONS = ['gzip', 'none'];
const PARENT_BASED = 'parentbased_';

/** Null: nobody has asked for traces. Throws an Error that names the variable. */
export function parseTraceSettings(environment: Environment): TraceSettings | null {
  // An empty variable counts as unset.
  const read = (name: string): string | null => environment[name]?.trim() || null;
  // For traces alone, then for all signals: that is the exporter's order, too.
  const given = (suffix: string): Given[] =>
    [`OTEL_EXPORTER_OTLP_TRACES_${suffix}`, `OTEL_EXPORTER_OTLP_${suffix}`].flatMap((name) => {
      const text = read(name);
      return text === null ? [] : [{ name, text }];
    });
  const exporter = read('OTEL_TRACES_EXPORTER');
  const [endpoint] = given('ENDPOINT');
  if (read('OTEL_SDK_DISABLED')?.toLowerCase() === 'true' || exporter === 'none') return null;
  if (exporter === null && endpoint === undefined) return null;
  if (exporter !== null && exporter !== 'otlp') {
    throw new Error(`OTEL_TRACES_EXPORTER: "${exporter}" is not supported; use otlp, or none`);
  }
  const [protocol] = given('PROTOCOL');
  if (protocol !== undefined && protocol.text !== 'http/protobuf') {
    throw new Error(`${protocol.name}: "${protocol.text}" is not supported; use http/protobuf`);
  }
  if (endpoint !== undefined) assertEndpoint(endpoint);
  for (const headers of given('HEADERS')) assertHeaders(headers);
  for (const suffix of FILES) for (const file of given(suffix).slice(0, 1)) assertReadable(file);
  for (const { name, text } of given('COMPRESSION').slice(0, 1)) {
    if (!COMPRESSIONS.includes(text)) throw new Error(`${name}: "${text}" is not ${COMPRESSIONS.join(' or ')}`);
  }
  for (const { name, text } of given('TIMEOUT').slice(0, 1)) {
    if (!(Number(text) > 0)) throw new Error(`${name}: "${text}" is not a number of milliseconds above 0`);
  }
  const count = (name: string, fallback: number): number => {
    const text = read(name);
    if (text === null) return fallback;
    const value = Number(text);
    if (!Number.isInteger(value) || value < 1) throw new Error(`${name}: "${text}" is not a positive integer`);
    return value;
  };
  return {
    ...parseSampler(read('OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on', read('OTEL_TRACES_SAMPLER_ARG')),
    queueMax: count('OTEL_BSP_MAX_QUEUE_SIZE', 2_048),
    batchMax: count('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512),
    delayMs: count('OTEL_BSP_SCHEDULE_DELAY', 5_000),
  };
}

/** The text is not repeated: it may hold a password. */
function assertEndpoint({ name, text }: Given): void {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? '')) return;
  throw new Error(`${name}: not an http or https URL such as http://localhost:4318`);
}

/** Without it the collector would be looked at by other certificates, or not let us in. */
function assertReadable({ name, text }: Given): void {
  try {
    readFileSync(text);
  } catch (error) {
    throw new Error(`${name}: cannot read the file: ${(error as Error).message}`, { cause: error });
  }
}

/** `name=value`, the value percent-encoded, with commas between. Not repeated either: a token may be among them. */
function assertHeaders({ name, text }: Given): void {
  const pairs = text.split(',').filter((pair) => pair.trim() !== '');
  for (const [nth, pair] of pairs.entries()) {
    const [, header = '', value = ''] = /^\s*([^=]*?)\s*=(.*)$/s.exec(pair) ?? [];
    try {
      validateHeaderName(decodeURIComponent(header));
      validateHeaderValue(header, decodeURIComponent(value.trim()));
    } catch (error) {
      throw new Error(`${name}: number ${nth + 1} is no header; write authorization=Bearer%20TOKEN`, { cause: error });
    }
  }
}

function parseSampler(sampler: string, argument: string | null): Pick<TraceSettings, 'isParentBased' | 'ratio'> {
  const isParentBased = sampler.startsWith(PARENT_BASED);
  const root = SAMPLERS.find((name) => name === (isParentBased ? sampler.slice(PARENT_BASED.length) : sampler));
  if (root === undefined) {
    throw new Error(
      `OTEL_TRACES_SAMPLER: "${sampler}" is not supported; use ${SAMPLERS.join(', ')}, or one of them after ` +
        PARENT_BASED,
    );
  }
  if (root !== 'traceidratio') return { isParentBased, ratio: root === 'always_on' ? 1 : 0 };
  const ratio = Number(argument ?? '1');
  if (!(ratio >= 0 && ratio <= 1)) throw new Error(`OTEL_TRACES_SAMPLER_ARG: "${argument}" is not between 0 and 1`);
  return { isParentBased, ratio };
}
