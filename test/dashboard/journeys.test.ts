// What people do with the dashboard, in a real browser on a real service with real traffic.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { Api } from '../e2e/api.ts';
import { ok } from '../e2e/receiver.ts';
import { Service } from '../e2e/service.ts';
import type { Scope } from '../e2e/service.ts';
import { createKey, findBarriers, openBrowser, openPage, signIn } from './browser.ts';
import { makeTraffic } from './traffic.ts';
import type { Traffic } from './traffic.ts';

const cleanups: (() => Promise<void>)[] = [];
const scope: Scope = { after: (cleanup) => cleanups.push(cleanup) };
const service = new Service();
const api = new Api(service);
let browser: Browser | null = null;
let skip: string | false = false;
let traffic: Traffic;
let adminKey = '';

before(async () => {
  const opened = await openBrowser(scope);
  if (typeof opened === 'string') {
    skip = opened;
    return;
  }
  browser = opened;
  scope.after(() => service.end());
  await service.start();
  traffic = await makeTraffic(scope, api);
  adminKey = await createKey(service, 'test');
});
after(async () => {
  for (const cleanup of cleanups.toReversed()) await cleanup();
});

async function open(t: { skip(reason: string): void }, key = adminKey, options = {}) {
  if (browser === null) {
    t.skip(skip as string);
    return null;
  }
  const opened = await openPage(browser, service.url, options);
  await signIn(opened.page, key);
  return opened;
}

describe('a customer did not get an event', () => {
  test('why is found from its destination, and it is delivered again', async (t) => {
    const opened = await open(t);
    if (opened === null) return;
    const { page, faults } = opened;
    await page.getByRole('link', { name: 'Deliveries', exact: true }).click();
    await page.getByLabel('Destination', { exact: true }).selectOption('Northwind warehouse');
    await page.getByLabel('Status', { exact: true }).selectOption('dead');
    await page.waitForURL(/status=dead/);
    await page.getByRole('link', { name: 'order.paid' }).first().click();
    await page.getByText('Answered 500; success is 2xx.').first().waitFor();
    await page.getByText('The receiver has an error of its own.').waitFor();
    await page.getByText('could not connect to the orders database').last().waitFor();

    traffic.broken.respond = ok;
    await page.getByRole('button', { name: 'Replay with all its retries' }).click();
    await page.getByRole('heading', { name: 'Attempt 3: succeeded' }).waitFor();

    await page.goBack();
    await page.waitForURL(/status=dead/);
    assert.equal(await page.getByLabel('Status', { exact: true }).inputValue(), 'dead', 'back restores the filters');
    assert.deepEqual(faults, []);
  });

  test('it is found by the beginning of its id, with the keyboard alone', async (t) => {
    const opened = await open(t);
    if (opened === null) return;
    const { page } = opened;
    await page.keyboard.press('/');
    await page.getByRole('combobox', { name: 'Search' }).waitFor();
    await page.keyboard.type(traffic.deadId.slice(0, -8));
    await page.getByRole('option', { name: traffic.deadId }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`/test/deliveries/${traffic.deadId}$`));
  });
});

describe('a destination', () => {
  test('is paused and resumed, and its secret is rotated and shown once', async (t) => {
    const opened = await open(t);
    if (opened === null) return;
    const { page, faults } = opened;
    await page.goto(`/test/destinations/${traffic.brokenDestination.id}`);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused: events wait here and spend no attempts.').waitFor();
    assert.equal((await api.readDestination(traffic.brokenDestination.id)).status, 'paused');
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();

    await page.getByRole('button', { name: 'Rotate' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
    await page.getByText(/^whsec_/).waitFor();
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByText(/signs for 23:59:\d\d more/).waitFor();
    assert.equal(await page.getByText(/whsec_/).count(), 0, 'it is nowhere on the page any more');
    assert.deepEqual(faults, []);
  });
});

test('what a key may not do is not shown', async (t) => {
  const readKey = browser === null ? '' : await createKey(service, 'test', 'read');
  const opened = await open(t, readKey);
  if (opened === null) return;
  const { page } = opened;
  await page.goto(`/test/destinations/${traffic.brokenDestination.id}`);
  await page.getByRole('heading', { name: 'Subscriptions' }).waitFor();
  for (const name of ['Edit', 'Pause', 'Delete', 'Rotate', 'Add', 'Remove']) {
    assert.equal(await page.getByRole('button', { name, exact: true }).count(), 0, name);
  }
  assert.equal(await page.getByRole('link', { name: 'API keys' }).count(), 0);
  assert.equal(await page.getByRole('link', { name: 'Send an event' }).count(), 0);
});

test('a key that cannot read is told so, and may do what it can', async (t) => {
  const opened = await open(t, browser === null ? '' : await createKey(service, 'test', 'publish'));
  if (opened === null) return;
  const { page } = opened;
  await page.getByText('This key cannot read').waitFor();
  await page.getByRole('link', { name: 'Send an event' }).click();
  await page.getByLabel('Type').fill('order.shipped');
  await page.getByLabel('Body').fill('{"order_id":12345678901234567890}');
  await page.getByRole('button', { name: 'Send to test' }).click();
  await page.getByText(/^evt_/).waitFor();
});

test('after signing out nothing is shown, and a deep link leads back after signing in', async (t) => {
  const opened = await open(t);
  if (opened === null) return;
  const { page } = opened;
  await page.getByRole('button', { name: /^Sign out/ }).click();
  await page.getByLabel('API key').waitFor();
  await page.goto('/test/events?type=order.*');
  await page.getByLabel('API key').fill(adminKey);
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/test\/events\?type=order/);
  await page.getByRole('link', { name: 'order.paid' }).first().waitFor();
});

for (const colorScheme of ['light', 'dark'] as const) {
  test(`every page is accessible, ${colorScheme}`, async (t) => {
    const opened = await open(t, adminKey, { colorScheme });
    if (opened === null) return;
    const { page, faults } = opened;
    const { event_id: eventId } = await api.delivery(traffic.deadId);
    const paths = [
      ...['', '/deliveries', `/deliveries/${traffic.deadId}`, '/deliveries?status=pending&period=15m'],
      ...['/events', `/events/${eventId}`, '/send', '/destinations'],
      ...[`/destinations/${traffic.brokenDestination.id}`, '/dlq', '/keys', '/cluster'],
    ];
    const barriers: string[] = [];
    for (const path of paths) {
      await page.goto(`/test${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.locator('main').locator('table, form, .empty').first().waitFor();
      barriers.push(...(await findBarriers(page)));
    }
    assert.deepEqual(barriers, []);
    assert.deepEqual(faults, []);
  });
}
