// When traces are asked for, by the standard environment of OpenTelemetry, and what is said of a mistake in it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseTraceSettings } from '../../src/tracing/settings.ts';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };

test('nobody asks for traces by saying nothing, by asking for none, or by disabling the SDK', () => {
  for (const environment of [
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: ' ' },
    { OTEL_SERVICE_NAME: 'hooks' },
    { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' },
    { ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' },
  ]) {
    assert.equal(parseTraceSettings(environment), null, JSON.stringify(environment));
  }
});

test('an endpoint or an exporter asks for them', () => {
  const all = { isParentBased: true, ratio: 1, queueMax: 2_048, batchMax: 512, delayMs: 5_000 };
  assert.deepEqual(parseTraceSettings(ENDPOINT), all);
  assert.deepEqual(parseTraceSettings({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1/t' }), all);
  assert.deepEqual(parseTraceSettings({ OTEL_TRACES_EXPORTER: 'otlp' }), all);
  assert.deepEqual(parseTraceSettings({ ...ENDPOINT, OTEL_BSP_SCHEDULE_DELAY: '100', OTEL_BSP_MAX_QUEUE_SIZE: '9' }), {
    ...all,
    queueMax: 9,
    delayMs: 100,
  });
});

for (const [sampler, argument, expected] of [
  ['always_on', undefined, { isParentBased: false, ratio: 1 }],
  ['always_off', undefined, { isParentBased: false, ratio: 0 }],
  ['traceidratio', '0.25', { isParentBased: false, ratio: 0.25 }],
  ['traceidratio', undefined, { isParentBased: false, ratio: 1 }],
  ['parentbased_always_off', undefined, { isParentBased: true, ratio: 0 }],
  ['parentbased_traceidratio', '0', { isParentBased: true, ratio: 0 }],
] as const) {
  test(`OTEL_TRACES_SAMPLER=${sampler}, ${argument ?? 'no argument'}`, () => {
    const environment = { ...ENDPOINT, OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: argument };
    const { isParentBased, ratio } = parseTraceSettings(environment)!;
    assert.deepEqual({ isParentBased, ratio }, expected);
  });
}

for (const [name, value] of [
  ['OTEL_TRACES_EXPORTER', 'zipkin'],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
  ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'grpc'],
  ['OTEL_TRACES_SAMPLER', 'sometimes'],
  ['OTEL_BSP_MAX_QUEUE_SIZE', '0'],
  ['OTEL_EXPORTER_OTLP_COMPRESSION', 'brotli'],
  ['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', '10s'],
] as const) {
  test(`${name}=${value} is refused by its name`, () => {
    assert.throws(() => parseTraceSettings({ ...ENDPOINT, [name]: value }), new RegExp(`^Error: ${name}: "${value}"`));
  });
}

test('an endpoint that is none is refused by its name, and not repeated; one that is not read may be anything', () => {
  const [all, traces] = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
  for (const value of ['nonsense', 'localhost:4318', 'ftp://127.0.0.1/', 'https://', '//collector:4318']) {
    const refusal = (name: string) => ({ message: `${name}: not an http or https URL such as http://localhost:4318` });
    assert.throws(() => parseTraceSettings({ [all]: value }), refusal(all), value);
    assert.throws(() => parseTraceSettings({ ...ENDPOINT, [traces]: value }), refusal(traces), value);
    assert.notEqual(parseTraceSettings({ [traces]: 'http://127.0.0.1/t', [all]: value }), null);
    assert.equal(parseTraceSettings({ [all]: value, OTEL_TRACES_EXPORTER: 'none' }), null);
  }
});

test('headers that would not be sent are refused by the name of their variable, and not repeated', () => {
  for (const name of ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS']) {
    const parse = (value: string) => parseTraceSettings({ ...ENDPOINT, [name]: value });
    for (const value of ['authorization=Bearer%20t0ken=,x-tenant=1', ' x-tenant = 1 ,']) {
      assert.notEqual(parse(value), null, value);
    }
    for (const value of ['authorization: Bearer t0ken', 'x-tenant', '=1', 'x y=1', 'x=%zz', 'x=%0A']) {
      const message = `${name}: number 2 is no header; write authorization=Bearer%20TOKEN`;
      assert.throws(() => parse(`a=b,${value}`), { message }, value);
    }
  }
});

test('a file that cannot be read is refused by the name of its variable', () => {
  for (const suffix of ['CERTIFICATE', 'TRACES_CERTIFICATE', 'CLIENT_CERTIFICATE', 'TRACES_CLIENT_KEY']) {
    const name = `OTEL_EXPORTER_OTLP_${suffix}`;
    const parse = (path: string) => parseTraceSettings({ ...ENDPOINT, [name]: path });
    assert.throws(() => parse('/no/such.pem'), new RegExp(`^Error: ${name}: cannot read the file: ENOENT`));
    assert.notEqual(parse(fileURLToPath(import.meta.url)), null);
  }
  const both = { OTEL_EXPORTER_OTLP_CERTIFICATE: '/no/such.pem', OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE: '/etc/passwd' };
  assert.notEqual(parseTraceSettings({ ...ENDPOINT, ...both }), null, 'the exporter reads the more specific one alone');
});

test('a ratio must be one', () => {
  for (const argument of ['1.5', '-1', 'half']) {
    const environment = { ...ENDPOINT, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: argument };
    assert.throws(() => parseTraceSettings(environment), /OTEL_TRACES_SAMPLER_ARG: .* is not between 0 and 1/);
  }
});
