// When traces are asked for, by the standard environment of OpenTelemetry, and what is said of a mistake in it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
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
  ['OTEL_TRACES_SAMPLER', 'sometimes'],
  ['OTEL_BSP_MAX_QUEUE_SIZE', '0'],
] as const) {
  test(`${name}=${value} is refused by its name`, () => {
    assert.throws(() => parseTraceSettings({ ...ENDPOINT, [name]: value }), new RegExp(`^Error: ${name}: "${value}"`));
  });
}

test('a ratio must be one', () => {
  for (const argument of ['1.5', '-1', 'half']) {
    const environment = { ...ENDPOINT, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: argument };
    assert.throws(() => parseTraceSettings(environment), /OTEL_TRACES_SAMPLER_ARG: .* is not between 0 and 1/);
  }
});
