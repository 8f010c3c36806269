// What an operator reads at each level of the log: a receiver that fails a thousand times a second fills no disk.
// And what of deliveries that ended the metric counts and a trace shows.
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { pino } from 'pino';
import { createOnError } from '../../src/app/base.ts';
import { AttemptLog, createMeter } from '../../src/app/observers.ts';
import { NoDescriptors } from '../../src/attempt/descriptors.ts';
import type { FinishedAttempt, Scheduled } from '../../src/model/observer.ts';
import { createAdjustableClock } from '../../src/runtime/clock.ts';
import { createIds } from '../../src/runtime/ids.ts';
import type { Log } from '../../src/runtime/log.ts';
import { createMetrics } from '../../src/runtime/metrics.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { createTracer, type Span } from '../../src/tracing/tracer.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { openDelivery } from '../support/deliveries.ts';

type Line = Record<string, unknown>;

const clock = new ManualClock();
const ids = createIds(clock, systemRandom);
const [first, second] = [ids.next('dst'), ids.next('dst')];
let lines: Line[];

function createLog(level: string): Log {
  return pino({ level, base: null }, { write: (line) => void lines.push(JSON.parse(line) as Line) });
}

function createAttemptLog(level: string): AttemptLog {
  return new AttemptLog(createLog(level), clock);
}

function finished(outcome: 'succeeded' | 'reset', destinationId = first): FinishedAttempt {
  const isDone = outcome === 'succeeded';
  return {
    delivery: openDelivery({ id: ids.next('dlv'), eventId: ids.next('evt'), destinationId, dueAt: clock.now() }),
    eventType: 'order.paid',
    trigger: 'schedule',
    traceparent: null,
    result: {
      outcome,
      startedAt: clock.now(),
      durationMs: 1.25,
      responseCode: isDone ? 204 : null,
      responseHeaders: null,
      responseBody: null,
      responseBodyTruncated: false,
      error: isDone ? null : 'the connection was reset',
      retryAfterAt: null,
    },
    decision: {
      status: isDone ? 'succeeded' : 'retrying',
      deadReason: null,
      dueAt: isDone ? null : clock.now() + 5_000,
      scheduledAt: null,
      fallbackStatus: null,
      schedulePosition: 1,
      completedAt: isDone ? clock.now() : null,
      pauseDestination: null,
    },
  };
}

function scheduled(fates: readonly ('stored' | 'dead')[]): Scheduled {
  const made = fates.map((fate) => ({
    fate,
    delivery: { id: ids.next('dlv'), destinationId: first, subscriptionId: ids.next('sub') },
  }));
  return {
    origin: 'event',
    event: {
      id: ids.next('evt'),
      environment: 1,
      type: 'order.paid',
      idempotencyKey: null,
      occurredAt: clock.now(),
      createdAt: clock.now(),
      traceparent: null,
    },
    body: new Uint8Array(),
    deliveries: made.map(({ delivery }) => delivery),
    backlogFull: new Set(made.flatMap(({ fate, delivery }) => (fate === 'dead' ? [delivery.id] : []))),
    dueAt: clock.now(),
  };
}

beforeEach(() => {
  lines = [];
});

describe('at level info', () => {
  test('an attempt that succeeds has no line', () => {
    createAttemptLog('info').note(finished('succeeded'));
    assert.deepEqual(lines, []);
  });

  test('ten failed attempts a second and destination have a line each, the rest are counted', () => {
    const log = createAttemptLog('info');
    for (let i = 0; i < 500; i++) log.note(finished('reset'));
    log.note(finished('reset', second));
    assert.equal(lines.length, 11);
    assert.equal(lines[0]!['error'], 'the connection was reset');
    clock.advance(1_000);
    assert.deepEqual(
      lines.slice(11).map(({ destination, left_out, msg }) => ({ destination, left_out, msg })),
      [{ destination: first, left_out: 490, msg: 'more attempts failed' }],
    );
    log.note(finished('reset'));
    assert.equal(lines.length, 13);
  });

  test('every delivery that ends dead has a line, however many', () => {
    const log = createAttemptLog('info');
    for (let i = 0; i < 50; i++) {
      const failed = finished('reset');
      log.note({ ...failed, decision: { ...failed.decision!, status: 'dead', deadReason: 'exhausted', dueAt: null } });
    }
    assert.equal(lines.filter(({ dead_reason }) => dead_reason === 'exhausted').length, 50);
  });

  test('every delivery that its destination had no room for has a line', () => {
    const accepted = scheduled(['stored', 'stored', 'dead', 'dead']);
    createAttemptLog('info').noteBornDead(accepted);
    assert.deepEqual(
      lines.map(({ delivery, event, destination, dead_reason }) => ({ delivery, event, destination, dead_reason })),
      accepted.deliveries.slice(2).map(({ id }) => {
        return { delivery: id, event: accepted.event.id, destination: first, dead_reason: 'backlog_full' };
      }),
    );
  });

  test('those that ended without an attempt have one line together, with their reason', () => {
    createAttemptLog('info').noteEnded([
      { environment: 1, destinationId: first, deadReason: 'expired', count: 3 },
      { environment: 1, destinationId: second, deadReason: 'destination_deleted', count: 200 },
    ]);
    assert.deepEqual(
      lines.map(({ destination, dead_reason, count }) => [destination, dead_reason, count]),
      [
        [first, 'expired', 3],
        [second, 'destination_deleted', 200],
      ],
    );
  });

  test('what was left out is told at a stop, too', () => {
    const log = createAttemptLog('info');
    for (let i = 0; i < 12; i++) log.note(finished('reset'));
    log.flush();
    assert.equal(lines.at(-1)!['left_out'], 2);
  });
});

test('a fault that a thousand destinations have at once has ten lines a second, the metric counts all', async () => {
  const metrics = createMetrics('0.0.0');
  const onError = createOnError({ metrics, log: createLog('info'), clock: createAdjustableClock(clock) });
  for (let i = 0; i < 1_000; i++) onError(new NoDescriptors(), 'attempt');
  onError(new Error('away'), 'sweep');
  clock.advance(1_000);
  assert.deepEqual(
    lines.slice(9).map(({ where, left_out, msg }) => ({ where, left_out, msg })),
    [
      { where: 'attempt', left_out: undefined, msg: 'a step failed; it will be tried again' },
      { where: 'sweep', left_out: undefined, msg: 'a step failed; it will be tried again' },
      { where: 'attempt', left_out: 990, msg: 'more steps failed' },
    ],
  );
  assert.match(await metrics.registry.metrics(), /^postrider_loop_failures_total\{loop="attempt"\} 1000$/m);
});

test('at level debug every attempt has a line', () => {
  const log = createAttemptLog('debug');
  for (let i = 0; i < 30; i++) log.note(finished('reset'));
  for (let i = 0; i < 30; i++) log.note(finished('succeeded'));
  assert.equal(lines.length, 60);
});

test('the metric of deliveries that ended counts none again that a forced attempt leaves as it was', async () => {
  const metrics = createMetrics('0.0.0');
  const meter = createMeter(metrics);
  const died = finished('reset');
  died.decision = { ...died.decision!, status: 'dead', deadReason: 'exhausted', dueAt: null };
  meter.attempted!(died);
  meter.attempted!({ ...died, trigger: 'manual', delivery: { ...died.delivery, fallbackStatus: 'dead' } });
  const arrived = finished('succeeded');
  meter.attempted!({ ...arrived, trigger: 'manual', delivery: { ...arrived.delivery, fallbackStatus: 'dead' } });
  const text = await metrics.registry.metrics();
  assert.match(text, /^postrider_deliveries_finished_total\{status="dead"\} 1$/m);
  assert.match(text, /^postrider_deliveries_finished_total\{status="succeeded"\} 1$/m);
});

test('the span of a delivery is told once: not again for a forced attempt that leaves it as it was', () => {
  const spans: Span[] = [];
  const { observer } = createTracer({ isSampled: () => true, end: (span) => void spans.push(span) }, () => clock.now());
  const died = finished('reset');
  died.decision = { ...died.decision!, status: 'dead', deadReason: 'exhausted', dueAt: null };
  observer.attempted!(died);
  observer.attempted!({ ...died, trigger: 'manual', delivery: { ...died.delivery, fallbackStatus: 'dead' } });
  assert.deepEqual(
    spans.map(({ name }) => name),
    ['attempt', 'delivery', 'attempt'],
  );
});

test('the metric of deliveries that ended counts those that their destination had no room for', async () => {
  const metrics = createMetrics('0.0.0');
  createMeter(metrics).scheduled!(scheduled(['stored', 'dead']));
  assert.match(await metrics.registry.metrics(), /^postrider_deliveries_finished_total\{status="dead"\} 1$/m);
});
