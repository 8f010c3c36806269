// More than a page has room for: it says so, and leads to the rest.
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { DeliveryWithRetries } from '../../e2e/api.ts';
import { ok, startReceiver } from '../../e2e/receiver.ts';
import { keyboard, mouse } from '../hands.ts';
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
const OLDEST = `dst_${DESTINATIONS - 1}`;

/** Instead of those that there are. What is asked for of their list is noted. */
async function serveMany(page: Page): Promise<string[]> {
  const { brokenDestination } = traffic();
  const destinations = Array.from({ length: DESTINATIONS }, (_, index) => ({
    ...brokenDestination,
    id: `dst_${index}`,
    name: index === DESTINATIONS - 1 ? 'The oldest of all' : `Customer ${index}`,
    url: `https://example.com/hooks/no-${index}`,
  }));
  const asked: string[] = [];
  await page.route('**/v1/destinations?**', (route) => {
    const { searchParams: query } = new URL(route.request().url());
    asked.push(query.get('cursor') ?? 'first');
    const from = Number(query.get('cursor') ?? 0);
    const data = destinations.slice(from, from + Number(query.get('limit')));
    const next = from + data.length < DESTINATIONS ? String(from + data.length) : null;
    return route.fulfill({ json: { data, has_more: next !== null, next_cursor: next } });
  });
  await page.route(/\/v1\/destinations\/dst_\d+$/, (route) =>
    route.fulfill({ json: destinations.find(({ id }) => route.request().url().endsWith(`/${id}`)) }),
  );
  return asked;
}

for (const hand of [mouse, keyboard]) {
  journey(`of thousands of destinations any can be chosen, ${hand.name}`, async ({ page }) => {
    const asked = await serveMany(page);
    const { brokenDestination } = traffic();
    const field = page.getByRole('combobox', { name: 'Destination', exact: true });
    await page.goto('/test/deliveries');
    await page.getByRole('table', { name: 'Deliveries' }).waitFor();
    assert.deepEqual(asked, [], 'nothing is read before it is asked for');
    await hand.find(field, 'HOOKS/no-2100', 'Search 2,000 more');
    await page.getByRole('option', { name: 'The oldest of all' }).waitFor();
    await page.getByRole('status').getByText('1 found, all 2,101 searched.').waitFor();
    assert.ok(asked.length <= 23, `${asked.length} requests for 22 pages and the newest`);
    await hand.find(field, 'oldest of', 'The oldest of all');
    await page.waitForURL(({ searchParams }) => searchParams.get('destination_id') === OLDEST);
    await field.and(page.locator(':focus')).waitFor();
    await page.getByText('None match').waitFor();
    await page.reload();
    await page.locator('[role=combobox][value="The oldest of all"]').waitFor();
    await page.goto('/test/dlq');
    await hand.find(field, brokenDestination.id, 'Northwind warehouse');
    await page.waitForURL(({ searchParams }) => searchParams.get('destination_id') === brokenDestination.id);
    await page.getByRole('table', { name: 'Dead letters' }).waitFor();
    await field.fill('');
    await page.waitForURL(({ search }) => search === '');
  });
}

journey(
  'events are not replayed to all, where Enter is pressed on a destination that is not found',
  async ({ page }) => {
    const { brokenDestination } = traffic();
    const asked: { destination_ids?: string[]; dry_run: boolean }[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') asked.push(request.postDataJSON() as (typeof asked)[number]);
    });
    await page.goto('/test/events');
    await page.getByRole('button', { name: 'Replay many' }).click();
    const dialog = page.getByRole('dialog', { name: 'Replay events' });
    await dialog.getByRole('checkbox').uncheck();
    await dialog.getByRole('button', { name: 'Replay them' }).and(page.locator(':enabled')).waitFor();
    const to = dialog.getByRole('combobox', { name: 'To' });
    await to.fill('nobody');
    await page.getByRole('status').getByText('0 found').waitFor();
    await page.keyboard.press('Enter');
    await to.fill(brokenDestination.id);
    await page.getByRole('option', { name: 'Northwind warehouse' }).waitFor();
    await page.keyboard.press('Enter');
    await dialog.locator('[role=combobox][value="Northwind warehouse"]').waitFor();
    await page.waitForRequest((request) => request.postData()?.includes(brokenDestination.id) === true);
    assert.ok(asked.every(({ dry_run: isDry }) => isDry));
    await to.press('ArrowDown');
    await page.getByRole('option', { name: 'All that match' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('option', { name: 'All that match' }).waitFor({ state: 'detached' });
    await dialog.waitFor();
  },
);

journey('Escape closes what is open, and takes no chosen destination back', async ({ page }) => {
  const { brokenDestination } = traffic();
  const asked: { destination_ids?: string[] }[] = [];
  page.on('request', (request) => {
    if (request.method() === 'POST') asked.push(request.postDataJSON() as (typeof asked)[number]);
  });
  await page.goto('/test/events');
  await page.getByRole('button', { name: 'Replay many' }).click();
  const dialog = page.getByRole('dialog', { name: 'Replay events' });
  const to = dialog.getByRole('combobox', { name: 'To' });
  await keyboard.find(to, brokenDestination.id, 'Northwind warehouse');
  await page.waitForRequest((request) => request.postData()?.includes(brokenDestination.id) === true);
  await to.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.deepEqual(asked.at(-1)?.destination_ids, [brokenDestination.id]);
  await page.goto(`/test/deliveries?destination_id=${brokenDestination.id}`);
  const field = page.getByRole('combobox', { name: 'Destination', exact: true });
  await page.locator('[role=combobox][value="Northwind warehouse"]').waitFor();
  await field.press('Escape');
  assert.equal(await field.inputValue(), 'Northwind warehouse');
});

journey('a search of destinations says how many it looked at, and goes on to the oldest', async ({ page }) => {
  await serveMany(page);
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
