// Steps of the tour where nothing goes wrong: start, routing, what arrives, repeats.
import type { ErrorReply, EventReply } from './api.ts';
import { ROUTES, SAMPLES, type Sample } from './samples.ts';
import { TEST_SUBNETS } from './service.ts';
import { eventRequest, type Tour } from './tour.ts';

export async function startService(tour: Tour): Promise<void> {
  tour.report.waiting('starting');
  const { url, keys, pid } = await tour.startService();
  tour.report.say(`postrider serve: process ${pid}, ${url}`);
  tour.report.say('its data in a temporary folder, a new key for test mode');
  tour.report.say(`test mode may reach this machine: TEST_SUBNETS=${TEST_SUBNETS}`);
  await tour.api.call('GET /readyz', { expect: 200 });
  tour.prove('GET /readyz answers 200', { 'the first start makes one test key': keys.length === 1 });
}

export async function makeDestinations(tour: Tour): Promise<void> {
  for (const { name, eventType, filter } of ROUTES) {
    const { secret } = await tour.addDestination({ name, eventType, filter });
    tour.report.say(`${name.padEnd(9)}  gets  ${eventType}`);
    if (filter !== null) tour.report.say(`${' '.repeat(9)}  if    ${JSON.stringify(filter)}`);
    if (!secret.startsWith('whsec_')) throw new Error(`${name} got no signing secret`);
  }
  const secrets = new Set(ROUTES.map(({ name }) => tour.destination(name).secret));
  tour.prove('each has a receiver of its own here, and its own signing secret', {
    'no two secrets are the same': secrets.size === ROUTES.length,
  });
}

export async function sendSamples(tour: Tour): Promise<void> {
  const sent: { sample: Sample; event: EventReply }[] = [];
  for (const sample of SAMPLES) {
    const event = await tour.send(sample.type, sample.body);
    const to = sample.to.length === 0 ? 'nobody' : sample.to.join(', ');
    tour.report.say(`${sample.type.padEnd(30)}  → ${to.padEnd(15)}  ${sample.why}`);
    sent.push({ sample, event });
  }
  tour.report.waiting('deliveries');
  for (const { sample, event } of sent) await untilArrived(tour, sample, event);
  const scheduled = sent.flatMap(({ event }) => event.deliveries);
  const expected = SAMPLES.flatMap(({ to }) => to);
  tour.prove(`${scheduled.length} deliveries, each to the right one, each signature verified`, {
    'as many deliveries as there are matches': scheduled.length === expected.length,
    'each went to whom it was meant for': sent.every((each) => isRoutedRight(tour, each.sample, each.event)),
  });
  tour.prove('every body arrived byte for byte: 1.0, 9007199254740993, \\u00e9, 🎉', {
    'the bytes are those that were sent': sent.every((each) => isUnchanged(tour, each.sample, each.event)),
  });
}

async function untilArrived(tour: Tour, sample: Sample, event: EventReply): Promise<void> {
  for (const name of sample.to) {
    const { receiver } = tour.destination(name);
    await receiver.until(sample.type, () => receiver.of(event.event_id).length > 0);
  }
}

/** By what the service promised, and by what arrived. */
function isRoutedRight(tour: Tour, { to }: Sample, { event_id, deliveries }: EventReply): boolean {
  return ROUTES.every(({ name }) => {
    const { id, receiver } = tour.destination(name);
    const promised = deliveries.filter(({ destination_id }) => destination_id === id).length;
    const expected = to.includes(name) ? 1 : 0;
    return promised === expected && receiver.of(event_id).length === expected;
  });
}

function isUnchanged(tour: Tour, { to, body }: Sample, { event_id }: EventReply): boolean {
  return to.every((name) =>
    tour
      .destination(name)
      .receiver.of(event_id)
      .every(({ data }) => data === body),
  );
}

export async function repeatEvent(tour: Tour): Promise<void> {
  const [type, body, key] = ['order.paid', '{"order":"A-1004","total":12.5,"currency":"EUR"}', 'order-A-1004-paid'];
  tour.report.say(`POST /v1/events with idempotency_key ${key}, twice`);
  const first = await tour.send(type, body, key);
  const second = await tour.api.call<EventReply>('POST /v1/events', {
    expect: 200,
    body: eventRequest(type, body, key),
  });
  tour.prove('the repeat answers 200 with the same event and makes no new delivery', {
    'the same event id': second.body.event_id === first.event_id,
    'the same delivery': second.body.deliveries[0]?.id === first.deliveries[0]?.id,
    'one delivery': first.deliveries.length === 1 && second.body.deliveries.length === 1,
    'Idempotent-Replayed: true': second.headers.get('idempotent-replayed') === 'true',
  });
  const other = eventRequest(type, body.replace('12.5', '99'), key);
  const conflict = await tour.api.call<ErrorReply>('POST /v1/events', { expect: 409, body: other });
  tour.prove('the same key with another body answers 409 idempotency_key_conflict', {
    'the error says so': conflict.body.error.code === 'idempotency_key_conflict',
  });
  const { receiver } = tour.destination('shop');
  await receiver.until(type, () => receiver.of(first.event_id).length > 0);
}
