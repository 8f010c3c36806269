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

journey('a search that did not look at all destinations says so where it finds nothing', async ({ page }) => {
  const { brokenDestination } = traffic();
  await page.route('**/v1/destinations?**', (route) => {
    const data = Array.from({ length: 100 }, (_, index) => ({ ...brokenDestination, id: `dst_${index}` }));
    return route.fulfill({ json: { data, has_more: true, next_cursor: 'on' } });
  });
  await page.goto('/test');
  await page.getByRole('button', { name: /^Search/ }).click();
  await page.getByRole('combobox', { name: 'Search' }).fill('older than those');
  await page.getByText('Nothing found; of destinations, the newest 2,000 were searched.').waitFor();
});
