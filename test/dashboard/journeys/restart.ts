// A page that is open while the service is gone and comes back. A relay keeps the address, as a service that is told
// its port does.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { after, before } from 'node:test';
import { ok, startReceiver } from '../../e2e/receiver.ts';
import { api, journey, scope, service, traffic } from '../stage.ts';

let address = '';
const relay = createServer((socket) => {
  const upstream = connect(Number(new URL(service.url).port), '127.0.0.1');
  pass(socket, upstream);
  pass(upstream, socket);
});

before(async () => {
  await once(relay.listen(0, '127.0.0.1'), 'listening');
  address = `http://127.0.0.1:${(relay.address() as AddressInfo).port}`;
});
after(() => relay.close());

function pass(from: Socket, to: Socket): void {
  from.pipe(to);
  from.on('error', () => to.destroy());
  from.on('close', () => to.destroy());
}

/** Of the pages: that of the last one in their list tells. */
const ALL_SCRIPTS_ARE_HERE = `performance.getEntriesByType('resource').some(({ name, responseEnd }) =>
  name.includes('/assets/cluster-') && responseEnd > 0)`;

journey(
  'a page goes on by itself after the service was cut off and started again, its live tail too',
  async ({ page }) => {
    const receiver = await startReceiver(scope, ok);
    await api.subscribed(receiver.url, 'life.**');
    const tail = page.getByRole('table', { name: 'Deliveries' });
    await page.goto('/test/deliveries');
    await tail.waitFor();
    await page.waitForFunction(ALL_SCRIPTS_ARE_HERE);
    await page.evaluate('window.isSame = true');
    await api.publish('life.before');
    await tail.getByRole('link', { name: 'life.before' }).waitFor();

    const away = page.getByRole('alert').getByText('The service does not answer. Trying again…');
    await service.kill();
    // A page that only listens hears it too.
    await away.waitFor();
    await page.getByRole('link', { name: 'Events', exact: true }).click();
    await page.getByRole('heading', { name: 'Events', level: 1 }).waitFor();
    await away.waitFor();
    await service.start();
    await page.getByRole('table', { name: 'Events' }).waitFor();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Deliveries', exact: true }).click();
    await api.publish('life.after');
    await tail.getByRole('link', { name: 'life.after' }).waitFor();
    // The first may have been read when the stream was opened again: this one is told by it.
    await api.publish('life.goes.on');
    await tail.getByRole('link', { name: 'life.goes.on' }).waitFor();
    assert.equal(await page.evaluate('window.isSame'), true, 'it is still the page that was open before');
  },
  { url: () => address },
);

journey('what a page was opened with draws its charts after a version with other files has come', async ({ page }) => {
  const scripts = ['overview', 'uPlot'].map(async (name) => {
    const response = await page.waitForResponse(
      (one) => one.url().includes(`/assets/${name}`) && one.url().endsWith('.js'),
    );
    await response.finished();
  });
  await page.goto('/test/deliveries');
  await Promise.all(scripts);
  await page.route('**/assets/**', (route) => route.fulfill({ status: 404, json: {} }));
  await page.getByRole('link', { name: 'Overview', exact: true }).click();
  await page.locator('main canvas').first().waitFor();
});

journey('a page whose data are slow to come says that it loads, until they are there', async ({ page }) => {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  await page.route('**/v1/**', async (route) => {
    await answered;
    await route.continue();
  });
  for (const path of ['', '/deliveries', '/destinations', '/dlq']) {
    await page.goto(`/test${path}`);
    await page.getByText('Loading…').waitFor();
  }
  answer();
  await page.locator('main').locator('table, .empty').first().waitFor();
  await page.getByText('Loading…').waitFor({ state: 'hidden' });
});

const UNAVAILABLE = {
  status: 503,
  json: { error: { code: 'unavailable', message: 'not now', request_id: 'req_none' } },
};

journey('what could not be read is asked for again when one says so', async ({ page, faults }) => {
  const { deadId, brokenDestination } = traffic();
  const { event_id: eventId } = await api.delivery(deadId);
  const again = page.getByRole('button', { name: 'Try again' });
  for (const path of [`deliveries/${deadId}`, `events/${eventId}`, `destinations/${brokenDestination.id}`]) {
    await page.route(`**/v1/${path}`, (route) => route.fulfill(UNAVAILABLE));
    await page.goto(`/test/${path}`);
    await again.waitFor();
    await page.unroute(`**/v1/${path}`);
    await again.click();
    await page.getByRole('heading', { name: 'About' }).waitFor();
    assert.equal(await again.count(), 0);
  }
  await page.route('**/session', (route) => route.fulfill(UNAVAILABLE));
  await page.goto('/test/events');
  await again.waitFor();
  await page.unroute('**/session');
  await again.click();
  await page.getByRole('table', { name: 'Events' }).waitFor();
  await page.goto('/test/events/evt_none');
  await page.getByRole('alert').waitFor();
  assert.equal(await again.count(), 0, 'there is none: nothing else would be answered');
  // The refusals are the journey's own.
  faults.length = 0;
});

journey('a page of a gateway is not taken for an answer, nor shown as a fault of JSON', async ({ page, faults }) => {
  const answer = { contentType: 'text/html', body: '<h1>Sign in to the network</h1>' };
  await page.route('**/v1/**', (route) => route.fulfill(answer));
  for (const path of ['', '/deliveries', '/events/evt_none', '/cluster']) {
    await page.goto(`/test${path}`);
    await page.getByRole('alert').getByText('What answered is not Postrider').first().waitFor();
  }
  await page.goto('/test/send');
  await page.getByLabel('Type').fill('order.paid');
  await page.getByRole('button', { name: 'Send to test' }).click();
  await page.getByRole('alert').getByText('Whether this was done is not known').waitFor();
  await page.route('**/session', (route) => route.fulfill(answer));
  await page.goto('/test/send');
  await page.getByRole('alert').getByText('What answered is not Postrider').waitFor();
  // That no session could be asked for is on the console too.
  faults.length = 0;
});
