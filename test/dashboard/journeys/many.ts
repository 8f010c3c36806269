// More than a page has room for: it says so, and leads to the rest.
import assert from 'node:assert/strict';
import type { DeliveryWithRetries } from '../../e2e/api.ts';
import { ok, startReceiver } from '../../e2e/receiver.ts';
import { api, journey, scope, traffic } from '../stage.ts';

type Now = { troubles: { destination_id: string }[] };

journey('as many destinations in trouble as are told are not counted: there may be more', async ({ page }) => {
  let told = 19;
  await page.route('**/v1/stats/now', async (route) => {
    const response = await route.fetch();
    const now = (await response.json()) as Now;
    const troubles = Array.from({ length: told }, (_, index) => ({
      ...now.troubles[0],
      destination_id: `dst_${index}`,
    }));
    await route.fulfill({ response, json: { ...now, troubles } });
  });
  await page.goto('/test');
  await page.getByRole('heading', { name: '19 destinations in trouble' }).waitFor();
  told = 20;
  await page.reload();
  await page.getByRole('heading', { name: 'Destinations in most trouble' }).waitFor();
  await page.getByRole('link', { name: 'All that fail' }).click();
  await page.getByRole('table', { name: 'Destinations' }).getByText('Northwind warehouse').waitFor();
});

journey(
  'of an event with more deliveries than the tables have room for, both pages lead to all of them',
  async ({ page }) => {
    const destination = await api.destination((await startReceiver(scope, ok)).url);
    for (let value = 0; value <= 50; value++)
      await api.subscribe(destination, 'many.wanted', { '$.n': { $gte: -value } });
    const { event_id: eventId, deliveries } = await api.publish('many.wanted', { n: 1 });
    for (const path of [`/events/${eventId}`, `/deliveries/${deliveries[0]!.id}`]) {
      await page.goto(`/test${path}`);
      await page.getByRole('link', { name: 'All deliveries of this event' }).click();
      await page.waitForURL(({ search }) => search === `?event_id=${eventId}`);
    }
  },
);

journey('of very many attempts the last ones are shown, and the first on request', async ({ page }) => {
  const { deadId } = traffic();
  await page.route(`**/v1/deliveries/${deadId}`, async (route) => {
    const response = await route.fetch();
    const delivery = (await response.json()) as DeliveryWithRetries;
    const retries = Array.from({ length: 150 }, (_, index) => ({ ...delivery.retries[0], attempt: index + 1 }));
    await route.fulfill({ response, json: { ...delivery, retries } });
  });
  await page.goto(`/test/deliveries/${deadId}`);
  const attempts = page.getByRole('heading', { name: /^Attempt \d/ });
  await page.getByRole('heading', { name: 'Attempt 150:' }).waitFor();
  assert.equal(await attempts.count(), 100);
  await page.getByRole('button', { name: 'Show the first 50 attempts too' }).click();
  await page.getByRole('heading', { name: 'Attempt 1:' }).waitFor();
  assert.equal(await attempts.count(), 150);
});

const DESTINATIONS = 2_101;

journey('a search of destinations says how many it looked at, and goes on to the oldest', async ({ page }) => {
  const { brokenDestination } = traffic();
  const destinations = Array.from({ length: DESTINATIONS }, (_, index) => ({
    ...brokenDestination,
    id: `dst_${index}`,
    name: index === DESTINATIONS - 1 ? 'The oldest of all' : `Customer ${index}`,
  }));
  await page.route('**/v1/destinations?**', (route) => {
    const { searchParams: query } = new URL(route.request().url());
    const from = Number(query.get('cursor') ?? 0);
    const data = destinations.slice(from, from + Number(query.get('limit')));
    const next = from + data.length < DESTINATIONS ? String(from + data.length) : null;
    return route.fulfill({ json: { data, has_more: next !== null, next_cursor: next } });
  });
  await page.goto('/test');
  await page.getByRole('button', { name: /^Search/ }).click();
  const search = page.getByRole('combobox', { name: 'Search', exact: true });
  await search.fill('customer');
  await page.getByText('Of destinations, the newest 2,000 were searched.').waitFor();
  await search.fill('oldest of');
  await page.locator('[role=option][data-highlighted]', { hasText: 'All destinations with “oldest of”' }).waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/destinations\?search=oldest/);
  const status = page.locator('main').getByRole('status');
  await status.getByText('0 found, the newest 2,000 searched.').waitFor();
  await page.getByRole('button', { name: 'Search 2,000 more' }).click();
  await page.getByRole('link', { name: 'The oldest of all' }).waitFor();
  await status.getByText('1 found, all 2,101 searched.').waitFor();
  await page.getByLabel('Name, URL or id').fill('customer');
  await status.getByText('2,100 found, all 2,101 searched; the newest 100 of them are shown.').waitFor();
  assert.equal(await page.locator('tbody tr').count(), 100);
});

journey('a destination is found as soon as it is made', async ({ page }) => {
  const { url } = await startReceiver(scope, ok);
  await page.goto('/test/destinations?search=made%20just%20now');
  await page.locator('main').getByRole('status').getByText('0 found').waitFor();
  await page.getByRole('button', { name: 'Add a destination' }).click();
  await page.getByLabel('URL', { exact: true }).fill(url);
  await page.getByLabel('Name', { exact: true }).fill('Made just now');
  await page.getByRole('dialog').getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByRole('heading', { name: 'Made just now' }).waitFor();
  await page.goBack();
  await page.getByRole('link', { name: 'Made just now' }).waitFor();
});
