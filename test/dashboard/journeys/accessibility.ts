// What axe can tell of every page, with data and without, in both themes; and what it cannot: where the focus goes.
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { findBarriers } from '../browser.ts';
import { assertVisible } from '../hands.ts';
import { api, journey, traffic } from '../stage.ts';

/** Those of the pages with the most to stop at. */
const STOPS_MAX = 40;

async function assertAccessible(page: Page, paths: readonly string[]): Promise<void> {
  const barriers: string[] = [];
  for (const path of paths) {
    await page.goto(path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.locator('main :is(table, form, .empty, .callout), main.sign-in').first().waitFor();
    barriers.push(...(await findBarriers(page)));
  }
  assert.deepEqual(barriers, []);
}

journey('every page is accessible, with data', async ({ page }) => {
  const { deadId, brokenDestination } = traffic();
  const { event_id: eventId } = await api.delivery(deadId);
  await assertAccessible(
    page,
    [
      ...['', '/deliveries', `/deliveries/${deadId}`, '/deliveries?status=pending&period=15m', '/events'],
      ...[`/events/${eventId}`, '/send', `/send?from=${eventId}`, '/destinations'],
      ...[`/destinations/${brokenDestination.id}`, '/dlq', '/operations', '/keys', '/cluster'],
    ].map((path) => `/test${path}`),
  );
});

const EMPTY = ['', '/deliveries', '/events', '/send', '/destinations', '/dlq', '/operations', '/keys', '/cluster'];
const MISSING = ['/deliveries/dlv_none', '/events/evt_none', '/destinations/dst_none', '/nothing'];

journey(
  'every page is accessible, with nothing to show or nothing there',
  ({ page }) =>
    assertAccessible(
      page,
      [...EMPTY, ...MISSING].map((path) => `/live${path}`),
    ),
  { mode: 'live' },
);

journey(
  'signing in is accessible',
  ({ page }) => assertAccessible(page, ['/sign-in', '/sign-in?reason=link&mode=live']),
  { scopes: null },
);

journey('what opens above a page is accessible, and gives the focus back', async ({ page }) => {
  const barriers: string[] = [];
  const openers: [string, string][] = [
    [`/destinations/${traffic().brokenDestination.id}`, 'Edit'],
    [`/destinations/${traffic().brokenDestination.id}`, 'Rotate'],
    [`/destinations/${traffic().brokenDestination.id}`, 'Recover'],
    [`/destinations/${traffic().brokenDestination.id}`, 'Add'],
    ['/destinations', 'Add a destination'],
    ['/dlq', 'Replay all'],
    ['/keys', 'Create a key'],
    ['/dlq', 'Search /'],
  ];
  for (const [path, name] of openers) {
    await page.goto(`/test${path}`);
    const opener = page.getByRole('button', { name, exact: true });
    await opener.click();
    await page.getByRole('dialog').waitFor();
    barriers.push(...(await findBarriers(page)).map((barrier) => `${name}: ${barrier}`));
    const isInside = await page
      .getByRole('dialog')
      .evaluate((dialog) => dialog.contains(dialog.ownerDocument.activeElement));
    assert.ok(isInside, `${name}: the focus is not in what was opened`);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const isBack = await opener.evaluate((element) => element === element.ownerDocument.activeElement);
    assert.ok(isBack, `${name}: the focus is not where it was`);
  }
  assert.deepEqual(barriers, []);
});

journey('Tab goes through a page in the order in which it is read, and the focus is seen', async ({ page }) => {
  const { deadId, brokenDestination } = traffic();
  for (const path of ['', '/deliveries', `/deliveries/${deadId}`, `/destinations/${brokenDestination.id}`, '/dlq']) {
    await page.goto(`/test${path}`);
    await page.locator('main').locator('table, form, .empty').first().waitFor();
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'To the content', path);
    for (let stop = 0; stop < STOPS_MAX; stop++) {
      await page.evaluate('window.stoppedAt = document.activeElement');
      await page.keyboard.press('Tab');
      await assertVisible(page);
      // Behind the last one is the browser's own window.
      if ((await page.evaluate('document.activeElement === document.body')) === true) break;
      const isAfter = await page.evaluate(
        '(window.stoppedAt.compareDocumentPosition(document.activeElement) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0',
      );
      assert.ok(isAfter, `${path}: after ${String(await page.evaluate('window.stoppedAt.outerHTML'))}`);
    }
  }
});
