// Traces as a collector gets them: an event from its producer's request to its destination as one trace, through
// failures and restarts; and nothing of it where nobody has asked.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Api } from './api.ts';
import { ok, startReceiver, type Receiver } from './receiver.ts';
import { Service, startService, type Scope } from './service.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PRODUCER_SPAN = 'b7ad6b7169203331';
const IN_AN_HOUR = { retry_policy: { schedule_seconds: [3_600], jitter: 0 } };
const SOON = { retry_policy: { schedule_seconds: [1], jitter: 0 } };

describe('traces that are asked for', () => {
  test('tell accept, deliveries and attempts as one trace with the producer, across a restart', async (t) => {
    const { collector, service } = await startTraced(t);
    const receiver = await startReceiver(t, (request) => request.answer(request.attempt === 1 ? 500 : 200));
    const api = new Api(service);
    await api.subscribed(receiver.url, 'traced.order', IN_AN_HOUR);
    const { event_id: eventId, deliveries } = await publish(service, 'traced.order', `00-${TRACE}-${PRODUCER_SPAN}-01`);
    await receiver.arrived(1);
    const [accept, failed] = await spansOf(collector, ['accept', 'attempt']);
    await service.kill();
    await service.start();
    await new Api(service).expect(202, 'POST', `/v1/deliveries/${deliveries[0]!.id}/retry`);
    await receiver.arrived(2);
    const [, , second, delivery] = await spansOf(collector, ['accept', 'attempt', 'attempt', 'delivery']);

    assert.deepEqual([accept!.traceId, accept!.parentSpanId], [TRACE, PRODUCER_SPAN]);
    assert.equal(accept!.attributes['messaging.message.id'], eventId);
    assert.deepEqual([delivery!.traceId, delivery!.parentSpanId], [TRACE, accept!.spanId]);
    for (const attempt of [failed!, second!]) {
      assert.deepEqual([attempt.traceId, attempt.parentSpanId], [TRACE, delivery!.spanId]);
    }
    assert.equal(failed!.attributes['postrider.outcome'], 'bad_status');
    assert.equal(second!.attributes['postrider.outcome'], 'succeeded');
    const sent = receiver.requests.map(({ headers }) => headers['traceparent']);
    assert.deepEqual(sent, [`00-${TRACE}-${failed!.spanId}-01`, `00-${TRACE}-${second!.spanId}-01`]);
  });

  test('begin with the event where the producer sent none, and follow a retry', async (t) => {
    const { collector, service } = await startTraced(t);
    const receiver = await startReceiver(t, (request) => request.answer(request.attempt === 1 ? 500 : 200));
    await new Api(service).subscribed(receiver.url, 'traced.own', SOON);
    await publish(service, 'traced.own', 'not a traceparent');
    const spans = await spansOf(collector, ['accept', 'attempt', 'attempt', 'delivery']);
    assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, 1);
    assert.equal(spans[0]!.parentSpanId, '');
  });

  test('are not told of a trace that its producer does not sample, which is passed on all the same', async (t) => {
    const { collector, service } = await startTraced(t);
    const receiver = await startReceiver(t, ok);
    await new Api(service).subscribed(receiver.url, 'traced.*');
    await publish(service, 'traced.no', `00-${TRACE}-${PRODUCER_SPAN}-00`);
    const [request] = await receiver.arrived(1);
    assert.match(request!.headers['traceparent']!, new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
    await publish(service, 'traced.yes', null);
    const spans = await spansOf(collector, ['accept', 'attempt', 'delivery']);
    assert.ok(spans.every(({ traceId }) => traceId !== TRACE));
  });

  test('a collector that is away is told of, costs no delivery, and holds up no stop for long', async (t) => {
    const service = new Service({}, tracesTo('http://127.0.0.1:9'));
    t.after(() => service.end());
    await service.start();
    const receiver = await startReceiver(t, ok);
    await new Api(service).subscribed(receiver.url, 'traced.away');
    await publish(service, 'traced.away', null);
    await receiver.arrived(1);
    const isTold = (): boolean =>
      service.logEntries().some(({ error }) => error === 'connect ECONNREFUSED 127.0.0.1:9');
    while (!isTold()) await service.activity();
    assert.deepEqual(await service.stop(), { code: 0, signal: null });
    assert.deepEqual(
      service.logEntries().filter(({ level }) => level === 'error'),
      [],
    );
  });
});

test('where nobody asks for traces, none is kept and none is sent', async (t) => {
  const service = await startService(t);
  const receiver = await startReceiver(t, ok);
  await new Api(service).subscribed(receiver.url, 'untraced.order');
  await publish(service, 'untraced.order', `00-${TRACE}-${PRODUCER_SPAN}-01`);
  const [request] = await receiver.arrived(1);
  assert.equal(request!.headers['traceparent'], undefined);
});

async function startTraced(scope: Scope): Promise<{ collector: Receiver; service: Service }> {
  const collector = await startReceiver(scope, ok);
  const service = new Service({}, tracesTo(new URL(collector.url).origin));
  scope.after(() => service.end());
  await service.start();
  return { collector, service };
}

function tracesTo(endpoint: string): Record<string, string> {
  return { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_BSP_SCHEDULE_DELAY: '50', OTEL_EXPORTER_OTLP_TIMEOUT: '500' };
}

type Accepted = { event_id: string; deliveries: { id: string }[] };

async function publish(service: Service, type: string, traceparent: string | null): Promise<Accepted> {
  const headers = { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' };
  const response = await fetch(`${service.url}/v1/events`, {
    method: 'POST',
    headers: traceparent === null ? headers : { ...headers, traceparent },
    body: JSON.stringify({ type, body: {} }),
  });
  assert.equal(response.status, 202);
  return (await response.json()) as Accepted;
}

type TracedSpan = {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId: string;
  attributes: Record<string, string>;
};

/** Waits until the collector has spans of these names, and no others: by name, and by start where they are alike. */
async function spansOf(collector: Receiver, names: readonly string[]): Promise<TracedSpan[]> {
  for (let count = 1; ; count++) {
    await collector.arrived(count);
    const spans = collector.requests.flatMap(({ path, body }) => {
      assert.equal(path, '/v1/traces');
      return readSpans(body);
    });
    if (spans.length < names.length) continue;
    const sorted = spans.toSorted((a, b) => (a.name === b.name ? 0 : a.name < b.name ? -1 : 1));
    assert.deepEqual(
      sorted.map(({ name }) => name),
      names,
    );
    return sorted;
  }
}

// opentelemetry/proto/collector/trace/v1, as far as the tests look: resource_spans(1) → scope_spans(2) → spans(2).
function readSpans(body: Buffer): TracedSpan[] {
  const spans = fieldsOf(body, 1).flatMap((resource) => fieldsOf(resource, 2).flatMap((scope) => fieldsOf(scope, 2)));
  return spans.map((span) => ({
    name: fieldsOf(span, 5)[0]!.toString(),
    traceId: fieldsOf(span, 1)[0]!.toString('hex'),
    spanId: fieldsOf(span, 2)[0]!.toString('hex'),
    parentSpanId: (fieldsOf(span, 4)[0] ?? Buffer.alloc(0)).toString('hex'),
    attributes: Object.fromEntries(
      fieldsOf(span, 9).map((pair) => [
        fieldsOf(pair, 1)[0]!.toString(),
        (fieldsOf(fieldsOf(pair, 2)[0]!, 1)[0] ?? Buffer.alloc(0)).toString(),
      ]),
    ),
  }));
}

/** The length-delimited fields of this number in a protobuf message. */
function fieldsOf(message: Buffer, wanted: number): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at < message.length;) {
    let [tag, length] = [0, 0];
    [tag, at] = readVarint(message, at);
    const type = tag & 7;
    if (type === 0) [, at] = readVarint(message, at);
    else if (type === 1) at += 8;
    else if (type === 5) at += 4;
    else {
      [length, at] = readVarint(message, at);
      if (tag >>> 3 === wanted) found.push(message.subarray(at, at + length));
      at += length;
    }
  }
  return found;
}

function readVarint(message: Buffer, start: number): [value: number, next: number] {
  let value = 0;
  for (let at = start, factor = 1; ; at++, factor *= 128) {
    value += (message[at]! & 0x7f) * factor;
    if (message[at]! < 0x80) return [value, at + 1];
  }
}
