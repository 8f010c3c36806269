// Steps of the tour that an operator takes: replay, key rotation, pause, and a look at everything at the end.
import { createVerifier } from '../src/cli/signature.ts';
import { listAll, type DeliveryReply, type DestinationReply, type PageReply, type SigningKeyReply } from './api.ts';
import type { ReceivedRequest } from './recording-receiver.ts';
import type { Destination, Tour } from './tour.ts';

export async function replayEvent(tour: Tour): Promise<void> {
  const names = ['shop', 'concierge'];
  const receivers = names.map((name) => tour.destination(name).receiver);
  const eventId = receivers[1]!.requests[0]!.webhookId;
  const { body } = await tour.api.call<{ data: DeliveryReply[] }>(`POST /v1/events/${eventId}/replay`, { expect: 202 });
  for (const { id } of body.data) tour.deliveryIds.add(id);
  tour.report.say(`POST /v1/events/{id}/replay: order A-1002, to ${names.join(' and ')}`);
  for (const receiver of receivers) await receiver.until('the replay', () => receiver.of(eventId).length === 2);
  const [old, again] = receivers[0]!.of(eventId) as [ReceivedRequest, ReceivedRequest];
  tour.prove('a new delivery to each, with the same webhook-id and the same bytes', {
    'one to each': body.data.length === names.length,
    'new deliveries': again.deliveryId !== old.deliveryId && body.data.some(({ id }) => id === again.deliveryId),
    'marked as a replay': body.data.every(({ origin }) => origin === 'replay'),
    'the same bytes': again.body.equals(old.body),
  });
}

export async function rotateKey(tour: Tour): Promise<void> {
  const crm = tour.destination('crm');
  const path = `/v1/destinations/${crm.id}/signing-keys`;
  tour.report.say('POST …/signing-keys/rotate for crm, with an overlap of one hour');
  const body = { overlap_seconds: 3_600 };
  const rotated = await tour.api.call<DestinationReply>(`POST ${path}/rotate`, { expect: 201, body });
  const secrets = { old: crm.secret, new: rotated.body.signing_secret };
  crm.receiver.trust([secrets.old, secrets.new]);
  const both = await sendUser(tour, crm, 1);
  tour.prove('during the overlap each request carries two signatures; both hold', {
    'two signatures': signatureCount(both) === 2,
    'the old key verifies': holds(secrets.old, both),
    'the new key verifies': holds(secrets.new, both),
  });
  const { body: keys } = await tour.api.call<PageReply<SigningKeyReply>>(`GET ${path}`, { expect: 200 });
  const old = keys.data.find(({ expires_at }) => expires_at !== null)!;
  await tour.api.call(`DELETE ${path}/${old.id}`, { expect: 204 });
  crm.secret = secrets.new;
  crm.receiver.trust([secrets.new]);
  const one = await sendUser(tour, crm, 2);
  tour.prove('with the old key deleted only the new one signs', {
    'one signature': signatureCount(one) === 1,
    'the new key verifies': holds(secrets.new, one),
    'the old key does not': !holds(secrets.old, one),
  });
}

async function sendUser(tour: Tour, { receiver }: Destination, n: number): Promise<ReceivedRequest> {
  const { event_id } = await tour.send('user.created', `{"id":"u_${n}"}`);
  await receiver.until('an event', () => receiver.of(event_id).length > 0);
  return receiver.of(event_id)[0]!;
}

function signatureCount({ headers }: ReceivedRequest): number {
  return headers['webhook-signature']!.split(' ').length;
}

function holds(secret: string, request: ReceivedRequest): boolean {
  return createVerifier([secret])(request).result === 'verified';
}

export async function pauseAndResume(tour: Tour): Promise<void> {
  const [billing, builds] = ['billing', 'builds'].map((name) => tour.destination(name)) as [Destination, Destination];
  const path = `/v1/destinations/${billing.id}`;
  await tour.api.call(`PATCH ${path}`, { expect: 200, body: { status: 'paused' } });
  tour.report.say('billing is paused, then an invoice is sent');
  const invoice = await tour.send('invoice.created', '{"invoice":"2026-0043"}');
  const later = await tour.send('repository.push', '{"ref":"refs/heads/main"}');
  await builds.receiver.until('a later event', () => builds.receiver.of(later.event_id).length > 0);
  const id = invoice.deliveries[0]!.id;
  const held = await tour.untilStatus(id, 'pending');
  tour.prove('its delivery is held, while a later event for builds went out', {
    'nothing arrived': billing.receiver.of(invoice.event_id).length === 0,
    'nothing is due': held.next_attempt_at === null,
    'no attempt was spent': held.attempt_count === 0,
  });
  await tour.api.call(`PATCH ${path}`, { expect: 200, body: { status: 'active' } });
  const sent = await tour.untilStatus(id, 'succeeded');
  tour.prove('active again: it went out at once', {
    'one attempt': sent.attempt_count === 1,
    'it arrived once': billing.receiver.of(invoice.event_id).length === 1,
  });
}

export async function takeStock(tour: Tour): Promise<void> {
  for (const id of tour.deliveryIds) await tour.untilStatus(id, 'succeeded');
  const deliveries = await listAll<DeliveryReply>(tour.api, '/v1/deliveries');
  const requests = tour.receivers.flatMap((receiver) => receiver.requests);
  const answered = new Set(requests.filter((request) => request.answered === 200).map(({ deliveryId }) => deliveryId));
  const received = tour.receivers.reduce((sum, { requestCount }) => sum + requestCount, 0);
  const listed = deliveries.map(({ id }) => id);
  tour.retryCount = deliveries.reduce((sum, { retry_count }) => sum + retry_count, 0);
  tour.prove(`GET /v1/deliveries: ${listed.length} deliveries, all succeeded, none unknown`, {
    'the list has each delivery once': new Set(listed).size === listed.length,
    'it has those that were promised, and no others':
      listed.length === tour.deliveryIds.size && listed.every((id) => tour.deliveryIds.has(id)),
    'all succeeded': deliveries.every(({ status }) => status === 'succeeded'),
  });
  tour.prove(`${received} requests arrived, every signature verified`, {
    'every request was verified': requests.length === received,
    'every delivery was answered 200': listed.every((id) => answered.has(id)),
    'none came that nobody promised': requests.every(({ deliveryId }) => tour.deliveryIds.has(deliveryId)),
  });
}

export async function stopService(tour: Tour): Promise<void> {
  tour.report.waiting('stopping');
  const exitCode = await tour.service.stop();
  tour.prove('SIGTERM: it finishes what it is at and exits with 0', { 'exit code 0': exitCode === 0 });
}
