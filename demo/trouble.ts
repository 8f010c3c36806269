// Steps of the tour where something breaks: a receiver for a while, a receiver for long, the service itself.
import { systemClock } from '../src/runtime/clock.ts';
import type { Answer } from '../src/cli/receiver.ts';
import { listAll, type DeliveryReply, type EventReply } from './api.ts';
import type { RecordingReceiver } from './recording-receiver.ts';
import type { Destination, Tour } from './tour.ts';
import { poll } from './wait.ts';

export async function recover(tour: Tour): Promise<void> {
  const { receiver } = await tour.addDestination({ name: 'flaky', eventType: 'payment.*', scheduleSeconds: [1, 1, 1] });
  tour.report.say('flaky gets payment.*, with retries after 1 s, 1 s and 1 s');
  // Cut first, on a fresh connection: on a reused one the service takes it for a stale socket and sends again at once.
  const answers: Answer[] = ['cut', 503, 200];
  const startedAt = systemClock.monotonic();
  receiver.answer = ({ attempt }) => {
    const answer = answers[attempt - 1] ?? 200;
    const after = ((systemClock.monotonic() - startedAt) / 1000).toFixed(1);
    tour.report.say(`attempt ${attempt} after ${after} s  →  ${answer === 'cut' ? 'connection cut' : answer}`);
    if (answer !== 200) tour.report.waiting('the next attempt');
    return answer;
  };
  const event = await tour.send('payment.captured', '{"payment":"pay_81","amount":250.0}');
  const delivery = await tour.untilStatus(event.deliveries[0]!.id, 'succeeded');
  const requests = receiver.of(event.event_id);
  tour.prove('delivered at the third attempt; the history shows each one', {
    'response codes none, 503, 200': isSame(delivery.response_codes, [null, 503, 200]),
    'two retries': delivery.retry_count === 2,
    'attempts 1, 2 and 3 arrived': isSame(
      requests.map(({ attempt }) => attempt),
      [1, 2, 3],
    ),
  });
  const bodies = new Set(requests.map(({ body }) => body.toString()));
  const signatures = new Set(requests.map(({ headers }) => headers['webhook-signature']));
  tour.prove('each attempt had the same webhook-id and the same bytes, signed anew', {
    'one body': bodies.size === 1,
    'three signatures': signatures.size === 3,
  });
}

export async function breakAndReplay(tour: Tour): Promise<void> {
  const { receiver } = await tour.addDestination({ name: 'broken', eventType: 'report.*', scheduleSeconds: [1] });
  receiver.answer = () => 500;
  tour.report.say('broken gets report.*, with one retry after 1 s, and answers 500');
  const event = await tour.send('report.ready', '{"report":"2026-01","pages":12}');
  const { id } = event.deliveries[0]!;
  tour.report.waiting('its schedule to be spent');
  const dead = await tour.untilStatus(id, 'dead');
  const dlq = await listAll<DeliveryReply>(tour.api, '/v1/dlq');
  tour.prove('after both attempts it is dead, and in the dead-letter list (GET /v1/dlq)', {
    'dead because exhausted': dead.dead_reason === 'exhausted',
    'two attempts': isSame(dead.response_codes, [500, 500]),
    'the list holds it alone': isSame(
      dlq.map((row) => row.id),
      [id],
    ),
  });
  receiver.answer = () => 200;
  tour.report.say('broken is repaired; POST /v1/dlq/{id}/replay');
  await tour.api.call(`POST /v1/dlq/${id}/replay`, { expect: 202 });
  const alive = await tour.untilStatus(id, 'succeeded');
  tour.prove('brought back and delivered; its history is kept', {
    'three attempts on record': isSame(alive.response_codes, [500, 500, 200]),
    'three requests arrived': receiver.of(event.event_id).length === 3,
    'the list is empty': (await listAll(tour.api, '/v1/dlq')).length === 0,
  });
}

const PARCELS = 30;
const ANSWERED = 10;
const ON_WIRE = 8;

export async function killAndRestart(tour: Tour): Promise<void> {
  const depot = await tour.addDestination({ name: 'depot', eventType: 'parcel.*', maxInFlight: ON_WIRE });
  const hang = hangAfter(depot.receiver, ANSWERED);
  const bodies = Array.from({ length: PARCELS }, (_, n) => `{"parcel":${n + 1},"weight_kg":${n}.50}`);
  tour.report.say(`depot gets parcel.*; it answers ${ANSWERED} requests, then it hangs`);
  const events = await Promise.all(bodies.map((body) => tour.send('parcel.shipped', body)));
  await depot.receiver.until('the requests in flight', () => hang.held() === ON_WIRE);
  const done = () => listAll<DeliveryReply>(tour.api, '/v1/deliveries', `&destination_id=${depot.id}&status=succeeded`);
  await poll('the answers to be stored', done, (rows) => rows.length === ANSWERED);
  await tour.service.kill();
  const waiting = PARCELS - ANSWERED - ON_WIRE;
  tour.report.say(`${PARCELS} accepted, ${ANSWERED} answered, ${ON_WIRE} on the wire, ${waiting} waiting: killed`);
  hang.end();
  tour.report.waiting('starting again');
  const { pid, keys } = await tour.startService();
  tour.report.say(`started again as process ${pid}, on the same data`);
  await untilAllAnswered(tour, depot, events);
  proveNothingLost(tour, depot.receiver, { events, bodies, keys });
}

/** From the `count`-th request on no answer is given until `end`, which cuts them all off. */
function hangAfter(receiver: RecordingReceiver, count: number): { held: () => number; end: () => void } {
  const held: ((answer: Answer) => void)[] = [];
  let answered = 0;
  receiver.answer = () => {
    if (answered++ < count) return 200;
    return new Promise((resolve) => held.push(resolve));
  };
  return {
    held: () => held.length,
    end() {
      receiver.answer = () => 200;
      for (const resolve of held) resolve('cut');
    },
  };
}

async function untilAllAnswered(tour: Tour, { receiver }: Destination, events: EventReply[]): Promise<void> {
  const isAnswered = ({ event_id }: EventReply) => receiver.of(event_id).some(({ answered }) => answered === 200);
  await receiver.until('what the killed service had accepted', () => events.every(isAnswered));
  for (const { deliveries } of events) await tour.untilStatus(deliveries[0]!.id, 'succeeded');
}

function proveNothingLost(
  tour: Tour,
  receiver: RecordingReceiver,
  { events, bodies, keys }: { events: EventReply[]; bodies: string[]; keys: unknown[] },
): void {
  tour.prove(`nothing lost: all ${PARCELS} arrived, verified and unchanged`, {
    'every body is as it was sent': events.every(({ event_id }, n) =>
      receiver.of(event_id).every(({ data }) => data === bodies[n]),
    ),
    'every event is there': events.every(({ event_id }) => receiver.of(event_id).length > 0),
    'the data are those of before': keys.length === 0,
  });
  const twice = events.filter(({ event_id }) => receiver.of(event_id).length > 1).length;
  tour.prove(`only the ${ON_WIRE} that were on the wire came twice: at least once is the promise`, {
    'as many came twice as were on the wire': twice === ON_WIRE,
  });
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
