// Something to look at: destinations that take what they get, refuse it, do not answer or are paused, and events for
// all of them.
import type { Api, Destination } from '../e2e/api.ts';
import { ok, startReceiver, type Receiver } from '../e2e/receiver.ts';
import type { Scope } from '../e2e/service.ts';

const ONE_RETRY = { retry_policy: { schedule_seconds: [1], jitter: 0 } };
const IN_AN_HOUR = { retry_policy: { schedule_seconds: [1, 3_600], jitter: 0 } };
const ROUNDS = 4;

export type Traffic = { broken: Receiver; brokenDestination: Destination; deadId: string };

export async function makeTraffic(scope: Scope, api: Api): Promise<Traffic> {
  const healthy = await startReceiver(scope, ok);
  const broken = await startReceiver(scope, (request) =>
    request.answer(500, {
      headers: { 'content-type': 'application/json' },
      body: '{"error":"could not connect to the orders database"}',
    }),
  );
  const busy = await startReceiver(scope, (request) => request.answer(503, { body: 'try later' }));
  const orders = await api.destination(healthy.url, { name: 'ACME orders', headers: { 'x-tenant': 'acme' } });
  await api.subscribe(orders, 'order.**');
  const brokenDestination = await api.destination(broken.url, { name: 'Northwind warehouse', ...ONE_RETRY });
  await api.subscribe(brokenDestination, 'order.paid', { '$.total': { $gte: 50 } });
  const crm = await api.destination(busy.url, { name: 'Globex CRM', ...IN_AN_HOUR });
  await api.subscribe(crm, 'customer.*');
  const longName = 'A partner whose name is longer than what most tables have room for';
  const paused = await api.destination(healthy.url, { name: longName });
  await api.subscribe(paused, 'customer.**');
  await api.change(paused.id, { status: 'paused' });
  let deadId = '';
  for (let round = 0; round < ROUNDS; round++) {
    const paid = await api.publish('order.paid', { order_id: `A-${round}`, total: 129.9, currency: 'EUR' });
    deadId = paid.deliveries.find(({ destination_id: id }) => id === brokenDestination.id)!.id;
    await api.publish('order.shipped', { order_id: `A-${round}`, parcels: [{ carrier: 'DHL', weight_kg: 1.25 }] });
    await api.publish('customer.updated', { customer_id: `C-${round}`, email: 'someone@example.com' });
  }
  await api.eventually(
    () => api.delivery(deadId),
    ({ status }) => status === 'dead',
  );
  return { broken, brokenDestination, deadId };
}
