// A customer did not get an event: why, and what puts it right.
import assert from 'node:assert/strict';
import type { Event } from '../../e2e/api.ts';
import { ok, startReceiver } from '../../e2e/receiver.ts';
import { keyboard, mouse } from '../hands.ts';
import { api, journey, scope, signInBy, traffic } from '../stage.ts';

const IN_AN_HOUR = { retry_policy: { schedule_seconds: [3_600], jitter: 0 } };

for (const [number, hand] of [mouse, keyboard].entries()) {
  journey(
    `from signing in: a filter that does not match is found and the event replayed, ${hand.name}`,
    async ({ page }) => {
      const receiver = await startReceiver(scope, ok);
      const type = `invoice.issued.no${number}`;
      const destination = await api.destination(receiver.url, { name: `Initech billing ${number}` });
      await api.subscribe(destination, type, { '$.total': { $gte: 50 } });
      const { event_id: eventId } = await api.publish(type, { total: 20 });
      await signInBy(hand, page);
      await hand.press(page.getByRole('link', { name: 'Events', exact: true }));
      await hand.write(page.getByLabel('Type or pattern'), type);
      await hand.press(page.getByRole('link', { name: type }));
      await page.getByText('It went nowhere').waitFor();
      await page.getByText('Does not match').waitFor();
      await page.getByText('$.total $gte 50').waitFor();
      await page.getByText('does not hold; there is 20').waitFor();

      await hand.press(page.getByRole('link', { name: `Initech billing ${number}` }));
      await hand.press(page.getByRole('button', { name: 'Add', exact: true }));
      await hand.write(page.getByLabel('Event type or pattern'), type);
      const add = page.getByRole('dialog').getByRole('button', { name: 'Add', exact: true });
      // To the digit: rounded, the service would take it.
      await hand.write(page.getByLabel(/^Filter/), '{"$.total":{"$lt":12345678901234567890}}');
      await hand.press(add);
      await page.getByText(/cannot hold the number "12345678901234567890"/).waitFor();
      await hand.write(page.getByLabel(/^Filter/), '{"$.total":{"$lt":50}}');
      await hand.press(add);
      // The form, which has it too, may still be open.
      await page.getByRole('table', { name: 'Subscriptions' }).getByText('{"$.total":{"$lt":50}}').waitFor();

      await page.goBack();
      await hand.press(page.getByRole('button', { name: 'Replay' }));
      await hand.press(page.getByRole('dialog').getByRole('button', { name: 'Replay' }));
      await page.getByText('1 new delivery scheduled.').waitFor();
      const [request] = await receiver.arrived(1);
      assert.deepEqual([request!.eventId, request!.data], [eventId, { total: 20 }]);
      await page.getByRole('table', { name: 'Deliveries of this event' }).getByText('Succeeded').waitFor();
    },
    { scopes: null },
  );

  journey(`a receiver that answered 500 is healed, and gets it by a retry, ${hand.name}`, async ({ page }) => {
    const name = `Hooli shipping ${number}`;
    const type = `parcel.sent.no${number}`;
    const receiver = await startReceiver(scope, (request) => request.answer(500, { body: 'out of paper' }));
    const destination = await api.destination(receiver.url, { name, ...IN_AN_HOUR });
    await api.subscribe(destination, type);
    const id = await api.publishToOne(type);
    await api.deliveryWhen(id, ({ attempt_count: count }) => count === 1);
    await page.goto('/test');
    await hand.press(page.getByRole('link', { name: 'Deliveries', exact: true }));
    await hand.find(page.getByLabel('Destination', { exact: true }), name, name);
    await page.waitForURL(/destination_id=/);
    await hand.choose(page.getByLabel('Status', { exact: true }), 'Retrying');
    await page.waitForURL(/status=retrying/);
    await hand.press(page.getByRole('link', { name: type }));
    await page.getByText('Answered 500; success is 2xx.').waitFor();
    await page.getByText('The receiver has an error of its own.').waitFor();
    await page.getByText('out of paper').waitFor();

    receiver.respond = ok;
    await hand.press(page.getByRole('button', { name: 'Retry now' }));
    await page.getByRole('heading', { name: 'Attempt 2: succeeded' }).waitFor();
    const ids = receiver.requests.map(({ deliveryId }) => deliveryId);
    assert.deepEqual(ids, [id, id]);

    await page.goBack();
    await page.waitForURL(/status=retrying/);
    assert.equal(
      await page.getByLabel('Status', { exact: true }).inputValue(),
      'retrying',
      'back restores the filters',
    );
  });
}

journey('a delivery is found by the beginning of its id, with the keyboard alone', async ({ page }) => {
  await page.goto('/test');
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  await page.keyboard.press('/');
  await page.getByRole('combobox', { name: 'Search' }).waitFor();
  await page.keyboard.insertText(traffic().deadId.slice(0, -8));
  await page.locator('[role=option][data-highlighted]', { hasText: traffic().deadId }).waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL(new RegExp(`/test/deliveries/${traffic().deadId}$`));
});

journey('Enter counts that comes before what was searched for', async ({ page }) => {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  await page.goto('/test');
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  await page.route('**/v1/**', async (route) => {
    await answered;
    await route.continue();
  });
  await page.keyboard.press('/');
  await page.getByRole('combobox', { name: 'Search' }).waitFor();
  const [searched] = await Promise.all([
    page.waitForRequest((request) => request.url().includes('/v1/deliveries')),
    page.keyboard.insertText(traffic().deadId.slice(0, -8)),
  ]);
  assert.equal(await page.getByRole('option').count(), 0);
  await page.keyboard.press('Enter');
  answer();
  await searched.response();
  await page.waitForURL(new RegExp(`/test/deliveries/${traffic().deadId}$`));
});

journey('an id that nothing has is not found, whatever it is of', async ({ page }) => {
  await page.goto('/test');
  await page.getByRole('button', { name: /^Search/ }).click();
  for (const kind of ['dlv', 'evt', 'dst', 'sub', 'op']) {
    await page.getByRole('combobox', { name: 'Search' }).fill(`${kind}_${'0'.repeat(26)}`);
    await page.getByRole('status').getByText('Nothing found.').waitFor();
  }
});

journey('Raw is what was posted and what is sent, byte for byte', async ({ page }) => {
  const receiver = await startReceiver(scope, ok);
  await api.subscribed(receiver.url, 'raw.body');
  const body = '{ "b": 1.0, "2": "\\u00e9", "b": {"1":1e2} }';
  const { event_id: eventId, deliveries } = await api.expect<Event>(
    202,
    'POST',
    '/v1/events',
    `{"type":"raw.body","body":${body}}`,
  );
  const [request] = await receiver.arrived(1);
  const shown: [string, string, string][] = [
    [`/events/${eventId}`, 'Body of the event', body],
    [`/deliveries/${deliveries[0]!.id}`, 'Body of the request', request!.body.toString()],
  ];
  for (const [path, label, text] of shown) {
    await page.goto(`/test${path}`);
    await page.getByRole('button', { name: 'Raw' }).click();
    assert.equal(await page.getByLabel(label, { exact: true }).textContent(), text);
  }
});

journey('a delivery that its destination holds back says until when', async ({ page }) => {
  const receiver = await startReceiver(scope, (request) => request.answer(429, { headers: { 'retry-after': '3600' } }));
  await api.subscribed(receiver.url, 'too.many', IN_AN_HOUR);
  const first = await api.publishToOne('too.many');
  await api.deliveryWhen(first, ({ attempt_count: count }) => count === 1);
  await page.goto(`/test/deliveries/${await api.publishToOne('too.many')}`);
  await page.getByText(/asked, by a Retry-After, to be left alone until \d{4}-/).waitFor();
});

journey('what is pressed again before there is an answer is done once', async ({ page }) => {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const asked: string[] = [];
  await page.route('**/v1/**', async (route) => {
    const request = route.request();
    const isChange = request.method() === 'POST' && request.postDataJSON()?.dry_run !== true;
    if (isChange) {
      asked.push(new URL(request.url()).pathname);
      await answered;
    }
    await route.continue();
  });
  const { deadId } = traffic();
  await page.goto(`/test/deliveries/${deadId}`);
  await page.getByRole('button', { name: 'Retry now' }).dblclick();
  await page.goto('/test/send');
  await page.getByLabel('Type').fill('order.paid');
  await page.getByRole('button', { name: 'Send to test' }).dblclick();
  await page.goto('/test/keys');
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).dblclick();
  await page.goto('/test/events?type=order.paid');
  await page.getByRole('button', { name: 'Replay many' }).click();
  await page.getByRole('checkbox').uncheck();
  await page.getByRole('button', { name: 'Replay them' }).and(page.locator(':enabled')).dblclick();
  answer();
  await page.getByText('It goes on when this is closed').waitFor();
  assert.deepEqual(asked, [`/v1/deliveries/${deadId}/retry`, '/v1/events', '/v1/api-keys', '/v1/events/replay']);
});

journey('a blank behind what a list is filtered by does not lead back from its second page', async ({ page }) => {
  const events = Array.from({ length: 51 }, () => ({ type: 'blank.behind', body: {} }));
  await api.expect(200, 'POST', '/v1/events/batch', { events });
  await page.clock.install();
  await page.goto('/test/events?type=blank.behind');
  await page.getByLabel('Type or pattern').fill('blank.behind ');
  await page.getByRole('link', { name: 'Older' }).click();
  await page.getByRole('link', { name: 'Newest' }).waitFor();
  await page.clock.runFor(2_000);
  assert.match(page.url(), /cursor=/);
});
