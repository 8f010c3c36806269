// Where a page cannot show what was asked for, or will not for long: it says so, and leads on.
import assert from 'node:assert/strict';
import { Api } from '../../e2e/api.ts';
import { ok, startReceiver } from '../../e2e/receiver.ts';
import { createKey, signIn } from '../browser.ts';
import { api, journey, scope, service, traffic } from '../stage.ts';

const LISTS = ['deliveries', 'keys'];

journey(
  'a cursor that is none leads to the beginning of its list, a filter that is none to the list',
  async ({ page }) => {
    for (const list of LISTS) {
      await page.goto(`/test/${list}?cursor=none`);
      await page.getByRole('link', { name: 'To the beginning of the list' }).click();
      await page.waitForURL(({ search }) => search === '');
      await page.getByRole('alert').waitFor({ state: 'detached' });
    }
    await page.goto('/test/deliveries?status=none');
    await page.getByRole('link', { name: 'Clear the filters' }).click();
    await page.waitForURL(({ search }) => search === '');
    await page.getByRole('table', { name: 'Deliveries' }).waitFor();
  },
);

journey('an event that is not there is no draft, and that is said', async ({ page }) => {
  await page.goto('/test/send?from=evt_none');
  await page
    .getByRole('alert')
    .getByText(/no .*event/i)
    .waitFor();
});

journey('what is typed before the draft has come is not replaced by it', async ({ page }) => {
  const { event_id: eventId } = await api.publish('draft.late', { from: 'the draft' });
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  await page.route(`**/v1/events/${eventId}`, async (route) => {
    await answered;
    await route.continue();
  });
  await page.goto(`/test/send?from=${eventId}`);
  const loading = page.getByRole('status').getByText('Loading…');
  await loading.waitFor();
  await page.getByLabel('Body').fill('{"typed":true}');
  answer();
  await loading.waitFor({ state: 'detached' });
  assert.equal(await page.getByLabel('Body').inputValue(), '{"typed":true}');
  await page.reload();
  await page.getByLabel('Type').and(page.locator('[value="draft.late"]')).waitFor();
  assert.match(await page.getByLabel('Body').inputValue(), /the draft/);
});

journey(
  'another tab that signs in with another key changes what the first one may',
  async ({ page }) => {
    await signIn(page, await createKey(service, 'test'));
    await page.getByRole('link', { name: 'API keys' }).waitFor();
    const other = await page.context().newPage();
    await signIn(other, await createKey(service, 'test', 'read'));
    await page.evaluate(`dispatchEvent(new Event('visibilitychange'))`);
    await page.getByRole('link', { name: 'API keys' }).waitFor({ state: 'detached' });
  },
  { scopes: null },
);

journey('a session that ends soon says so while what is written can still be sent', async ({ page }) => {
  let minutes = 10;
  await page.route('**/session', async (route) => {
    if (route.request().method() !== 'GET') return route.continue();
    const response = await route.fetch();
    const { sessions } = (await response.json()) as { sessions: object[] };
    const end = new Date(Date.now() + minutes * 60_000).toISOString();
    return route.fulfill({
      response,
      json: { sessions: sessions.map((session) => ({ ...session, expires_at: end })) },
    });
  });
  await page.goto('/test/send');
  await page.getByLabel('Type').fill('order.shipped');
  const opened = page.context().waitForEvent('page');
  await page.getByRole('link', { name: 'Sign in again in another tab' }).click();
  await (await opened).getByLabel('API key').waitFor();
  minutes = 480;
  await page.evaluate(`dispatchEvent(new Event('visibilitychange'))`);
  await page.getByText('This session ends').waitFor({ state: 'detached' });
  assert.equal(await page.getByLabel('Type').inputValue(), 'order.shipped');
});

journey(
  'a name of which nothing is to be seen, or that reads as another, is shown by its characters',
  async ({ page }) => {
    const { url } = await startReceiver(scope, ok);
    for (const name of ['\u200b', '\u202enimda']) await api.destination(url, { name });
    const admin = new Api(service, await createKey(service, 'test', 'admin'));
    await admin.expect(201, 'POST', '/v1/api-keys', { name: '\u202enimda', mode: 'test', scopes: ['read'] });
    await page.goto('/test/destinations');
    await page.getByRole('link', { name: '\\u200b', exact: true }).waitFor();
    await page.getByRole('link', { name: '\\u202enimda', exact: true }).waitFor();
    await page.goto('/test/keys');
    await page.getByText('\\u202enimda', { exact: true }).waitFor();
  },
);

const HOUR_MS = 3_600_000;

journey('where the clock of the browser is wrong, times and spans are those of the service', async ({ page }) => {
  const { brokenDestination } = traffic();
  for (const wrongMs of [-HOUR_MS, HOUR_MS]) {
    await page.clock.install({ time: Date.now() + wrongMs });
    await page.goto('/test/deliveries?period=15m');
    const times = page.getByRole('table', { name: 'Deliveries' }).locator('td.end');
    await times.first().waitFor();
    for (const time of await times.allInnerTexts()) assert.match(time, /^now$|^\d+ (s|min) ago$/);
    await page.goto(`/test/destinations/${brokenDestination.id}`);
    await page.getByRole('button', { name: 'Recover' }).click();
    await page.getByLabel('Scheduled').selectOption('Last hour');
    await page.getByText(/^[1-9]\d* deliver/).waitFor();
  }
});
