// The service's own events, from what makes them to the receiver that hears of it.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { Api, type Event } from './api.ts';
import { ok, Receiver, startReceiver, type Received } from './receiver.ts';
import { Service } from './service.ts';

type Payload = { id: string; type: string; data: Record<string, unknown> };

const ONCE = { retry_policy: { schedule_seconds: [] } };
const payloadOf = (request: Received): Payload => JSON.parse(request.body.toString()) as Payload;

/** What the receiver has heard of a destination, once that is so much. */
async function heardOf(receiver: Receiver, id: string, count: number): Promise<Payload[]> {
  const heard = (): Payload[] => receiver.requests.map(payloadOf).filter(({ data }) => data.destination_id === id);
  await receiver.until(() => heard().length >= count, `${count} events about ${id}`);
  return heard();
}

describe('the service’s own events', () => {
  const service = new Service();
  const api = new Api(service);
  const operator = new Receiver(ok);
  const everything = new Receiver(ok);
  before(async () => {
    await Promise.all([service.start(), operator.listen(), everything.listen()]);
    await api.subscribed(operator.url, 'postrider.**', { name: 'operator' });
    await api.subscribed(everything.url, '**');
  });
  after(() => Promise.all([service.end(), operator.close(), everything.close()]));

  test('tell of a delivery that died, of a pause and of the recovery, and are as documented', async (t) => {
    const customer = await startReceiver(t, (request) => request.answer(500));
    const destination = await api.subscribed(customer.url, 'op.order', { ...ONCE, name: 'customer' });
    // It asks to hear of itself, and does not.
    await api.subscribe(destination, 'postrider.**');
    const published = await api.publish('op.order', { n: 1 });
    const [dead] = await heardOf(operator, destination.id, 1);
    const [delivery] = published.deliveries.filter(({ destination_id: id }) => id === destination.id);
    assert.equal(dead!.type, 'postrider.delivery.dead');
    assert.deepEqual(dead!.data, {
      destination_id: destination.id,
      destination_name: 'customer',
      delivery_id: delivery!.id,
      event_id: published.event_id,
      event_type: 'op.order',
      dead_reason: 'exhausted',
      count: 1,
    });

    await api.change(destination.id, { status: 'paused' });
    const [, paused] = await heardOf(operator, destination.id, 2);
    assert.equal(paused!.type, 'postrider.destination.paused');
    assert.equal(paused!.data.reason, 'manual');

    customer.respond = ok;
    await api.change(destination.id, { status: 'active' });
    await api.publish('op.order', { n: 2 });
    const [, , recovered] = await heardOf(operator, destination.id, 3);
    assert.equal(recovered!.type, 'postrider.destination.recovered');
    assert.equal(recovered!.data.after, 'paused');

    const listed = await api.all<Event>('/v1/events?type=postrider.**');
    assert.deepEqual(
      new Set([dead, paused, recovered].map((one) => one!.id)).isSubsetOf(new Set(listed.map((one) => one.event_id))),
      true,
    );
    for (const { event_id: id } of listed) {
      const { deliveries } = await api.expect<Event>(200, 'GET', `/v1/events/${id}`);
      assert.ok(!deliveries.some((one) => one.destination_id === destination.id), 'not to the one it is about');
    }
    assert.ok(!everything.requests.some((request) => payloadOf(request).type.startsWith('postrider.')));
    await assertDocumented([dead!, paused!, recovered!]);
  });

  test('tell of a destination that says 410', async (t) => {
    const customer = await startReceiver(t, (request) => request.answer(410));
    const destination = await api.subscribed(customer.url, 'op.gone');
    await api.publish('op.gone');
    const heard = await heardOf(operator, destination.id, 2);
    const reasons = heard.map(({ data }) => data.reason ?? data.dead_reason);
    assert.deepEqual(reasons, ['gone', 'gone']);
  });

  test('are not made where nobody wants them', async (t) => {
    const filtered = await startReceiver(t);
    const quiet = await startReceiver(t, (request) => request.answer(500));
    const count = (await api.all<Event>('/v1/events?type=postrider.delivery.dead')).length;
    const subscriptions = await api.all<{ id: string; event_type: string }>('/v1/subscriptions');
    for (const { id, event_type: type } of subscriptions) {
      if (type.startsWith('postrider.')) await api.expect(204, 'DELETE', `/v1/subscriptions/${id}`);
    }
    const listener = await api.destination(filtered.url);
    await api.subscribe(listener, 'postrider.delivery.dead', { '$.event_type': 'op.wanted' });
    await api.subscribed(quiet.url, 'op.unwanted', ONCE);
    await api.subscribed(quiet.url, 'op.wanted', ONCE);
    await api.publish('op.unwanted');
    await quiet.arrived(1);
    await api.publish('op.wanted');
    await filtered.arrived(1);
    assert.equal((await api.all<Event>('/v1/events?type=postrider.delivery.dead')).length, count + 1);
  });

  async function assertDocumented(payloads: Payload[]): Promise<void> {
    const document = await api.expect<{ webhooks: Record<string, object> }>(200, 'GET', '/openapi.json');
    const ajv = new Ajv2020({ strict: false });
    addFormats.default(ajv);
    ajv.addSchema(document, 'document');
    for (const payload of payloads) {
      const pointer = `/webhooks/${payload.type}/post/requestBody/content/application~1json/schema`;
      const validate = ajv.compile({ $ref: `document#${pointer}` });
      assert.ok(validate(payload), `${payload.type}: ${ajv.errorsText(validate.errors)}`);
    }
  }
});
