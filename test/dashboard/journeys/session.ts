// Who is signed in, for how long, and what a key may not do.
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { Api } from '../../e2e/api.ts';
import { createKey, openPage, signIn } from '../browser.ts';
import { api, journey, service, traffic } from '../stage.ts';

const MANAGING = ['Edit', 'Pause', 'Delete', 'Rotate', 'Add', 'Remove', 'Send a test event'];
const OPERATING = ['Recover', 'Retry now', 'Replay', 'Replay all', 'Replay with all its retries'];

/** The buttons of every page that has any. */
async function buttonsOf(page: Page): Promise<string[]> {
  const { deadId, brokenDestination } = traffic();
  const { event_id: eventId } = await api.delivery(deadId);
  const seen: string[] = [];
  const paths = ['', '/destinations', `/destinations/${brokenDestination.id}`, '/dlq', '/operations'];
  for (const path of [...paths, `/deliveries/${deadId}`, `/events/${eventId}`]) {
    await page.goto(`/test${path}`);
    await page.locator('main').locator('table, .empty').first().waitFor();
    await page.getByRole('link', { name: 'Operations', exact: true }).waitFor();
    if (path.startsWith('/destinations/')) await page.getByLabel('Health', { exact: true }).waitFor();
    seen.push(...(await page.locator('main').getByRole('button').allInnerTexts()));
  }
  return seen;
}

journey(
  'with a key that may only read, nothing is shown that changes anything',
  async ({ page }) => {
    const buttons = await buttonsOf(page);
    for (const name of [...MANAGING, ...OPERATING]) assert.ok(!buttons.includes(name), name);
    assert.equal(await page.getByRole('checkbox').count(), 0, 'nothing is selected for nothing');
    for (const name of ['API keys', 'Cluster', 'Send an event']) {
      assert.equal(await page.getByRole('link', { name }).count(), 0, name);
    }
  },
  { scopes: 'read' },
);

journey(
  'with a key that may not operate, what manages destinations is there and what sends again is not',
  async ({ page }) => {
    const buttons = await buttonsOf(page);
    for (const name of ['Edit', 'Pause', 'Delete']) assert.ok(buttons.includes(name), name);
    for (const name of OPERATING) assert.ok(!buttons.includes(name), name);
  },
  { scopes: 'read,manage' },
);

journey(
  'a key that cannot read is told so, and may do what it can',
  async ({ page }) => {
    await page.goto('/test');
    await page.getByText('This key cannot read').waitFor();
    await page.getByRole('link', { name: 'Send an event' }).click();
    await page.getByLabel('Type').fill('order.shipped');
    await page.getByLabel('Body').fill('{"order_id":12345678901234567890}');
    await page.getByRole('button', { name: 'Send to test' }).click();
    await page.getByText(/^evt_/).waitFor();
    const { deadId, brokenDestination } = traffic();
    for (const path of [`deliveries/${deadId}`, `destinations/${brokenDestination.id}`, 'events/evt_none']) {
      await page.goto(`/test/${path}`);
      await page.locator('main').getByText('This key lacks the scope read').waitFor();
    }
  },
  { scopes: 'publish' },
);

journey(
  'what a key may not do is said where an address leads there',
  async ({ page }) => {
    for (const [path, scope] of Object.entries({ keys: 'admin', cluster: 'admin', send: 'publish' })) {
      await page.goto(`/test/${path}`);
      await page.locator('main').getByText(`This key lacks the scope ${scope}`).waitFor();
      assert.equal(await page.locator('main').getByRole('button').count(), 0, path);
    }
  },
  { scopes: 'read' },
);

journey(
  'signing out ends the session, also for who kept its cookie, and a deep link leads back after signing in',
  async ({ page }) => {
    const key = await createKey(service, 'test');
    await signIn(page, key);
    const cookies = await page.context().cookies();
    await page.getByRole('button', { name: /^Sign out/ }).click();
    await page.getByLabel('API key').waitFor();
    assert.deepEqual(await page.context().cookies(), [], 'the browser has forgotten it');
    await page.goBack();
    await page.getByLabel('API key').waitFor();

    await page.context().addCookies(cookies);
    await page.goto('/test/events?type=order.*');
    await page.getByLabel('API key').fill(key);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/test\/events\?type=order/);
    await page.getByRole('link', { name: 'order.paid' }).first().waitFor();
  },
  { scopes: null },
);

journey(
  'a page whose key is revoked leads to signing in by itself',
  async ({ page }) => {
    const admin = new Api(service, await createKey(service, 'test', 'admin'));
    const asked = { mode: 'test', scopes: ['read'] };
    const key = await admin.expect<{ id: string; secret: string }>(201, 'POST', '/v1/api-keys', asked);
    await signIn(page, key.secret);
    await admin.expect(204, 'DELETE', `/v1/api-keys/${key.id}`);
    await page.getByLabel('API key').waitFor();
  },
  { scopes: null },
);

journey(
  'a form that is refused as the session has ended is there again after signing in, as it was left',
  async ({ page }) => {
    const admin = new Api(service, await createKey(service, 'test', 'admin'));
    const asked = { mode: 'test', scopes: ['publish', 'read', 'manage'] };
    const first = await admin.expect<{ id: string; secret: string }>(201, 'POST', '/v1/api-keys', asked);
    const second = await admin.expect<{ id: string; secret: string }>(201, 'POST', '/v1/api-keys', asked);
    const dialog = page.getByRole('dialog', { name: 'Add a destination' });
    // By the end of its stream the page would hear of the end of the key, at times before the form is sent.
    await page.route('**/v1/stream?**', (route) => route.abort());
    await signIn(page, first.secret);
    await page.goto('/test/destinations');
    await page.getByRole('button', { name: 'Add a destination' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill('Half written');
    await dialog.getByLabel('URL').fill('https://example.com/webhooks');
    await admin.expect(204, 'DELETE', `/v1/api-keys/${first.id}`);
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByLabel('API key').fill(second.secret);
    await dialog.waitFor({ state: 'hidden' });
    await page.keyboard.press('Enter');
    await dialog.getByText('The session had ended, so this was not done.').waitFor();
    assert.equal(await dialog.getByLabel('Name', { exact: true }).inputValue(), 'Half written');
    await dialog.getByLabel('URL').and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Add a destination' }).and(page.locator(':focus')).waitFor();

    await page.goto('/test/send');
    await page.getByLabel('Type').fill('order.shipped');
    await page.getByLabel('Body').fill('{"order_id":"A-1"}');
    await admin.expect(204, 'DELETE', `/v1/api-keys/${second.id}`);
    await page.getByRole('button', { name: 'Send to test' }).click();
    await page.getByLabel('API key').fill(await createKey(service, 'test', 'publish'));
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Send to test' }).and(page.locator(':focus')).press('Enter');
    await page.getByText(/^evt_/).waitFor();
    assert.equal(await page.getByLabel('Body').inputValue(), '{"order_id":"A-1"}');
  },
  { scopes: null },
);

journey(
  'who signs in with a browser that refuses the cookie is told so',
  async ({ page }) => {
    await page.route('**/session', async (route) => {
      const response = await route.fetch();
      await page.context().clearCookies();
      await route.fulfill({ status: response.status(), json: await response.json() });
    });
    await page.goto('/sign-in');
    await page.getByLabel('API key').fill(await createKey(service, 'test'));
    await page.keyboard.press('Enter');
    await page.getByText('this browser refuses the cookie').waitFor();
    await page.getByRole('heading', { name: 'Sign in to Postrider' }).waitFor();
  },
  { scopes: null },
);

journey(
  'a key of the other environment leads there, also from where a session has ended',
  async ({ page }) => {
    await page.goto('/test/events');
    await page.getByLabel('API key').fill(await createKey(service, 'live'));
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/live$/);
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  },
  { scopes: null },
);

journey(
  'whoever signs in before the page has heard that nobody is signed in stays so',
  async ({ page }) => {
    const { promise: signedIn, resolve } = Promise.withResolvers<void>();
    let isHeld = false;
    await page.route('**/session', async (route) => {
      if (isHeld || route.request().method() !== 'GET') return route.continue();
      isHeld = true;
      const response = await route.fetch();
      await signedIn;
      return route.fulfill({ response }).catch(() => {});
    });
    await signIn(page, await createKey(service, 'test'));
    resolve();
    await page.reload();
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  },
  { scopes: null },
);

journey(
  'the link that is printed at the start signs in once',
  async ({ page }) => {
    const link = service.signInLink;
    await page.goto(link);
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    const another = await openPage(page.context().browser()!, service.url);
    await another.page.goto(link);
    await another.page.getByText('That link has been used or is too old').waitFor();
    assert.deepEqual(await another.page.context().cookies(), []);
    assert.deepEqual(another.faults, []);
    await another.page.context().close();
    await page.reload();
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  },
  { scopes: null },
);
