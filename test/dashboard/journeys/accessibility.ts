// What axe can tell of every page, with data and without, in both themes; and what it cannot: where the focus goes.
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { Api } from '../../e2e/api.ts';
import { ok, startReceiver } from '../../e2e/receiver.ts';
import { createKey, findBarriers } from '../browser.ts';
import { assertVisible } from '../hands.ts';
import { api, journey, scope, service, traffic } from '../stage.ts';

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

journey('what a dialog shows after its form has the focus, and gives it back', async ({ page }) => {
  const dialog = page.getByRole('dialog');
  const isFocused = page.locator(':focus');
  await page.goto('/test/keys');
  await page.getByRole('button', { name: 'Create a key' }).click();
  await dialog.getByRole('button', { name: 'Create' }).press('Enter');
  await dialog.getByText('Copy it now').waitFor();
  await dialog.and(isFocused).waitFor();
  await dialog.getByRole('button', { name: 'Done' }).press('Enter');
  await page.getByRole('button', { name: 'Create a key' }).and(isFocused).waitFor();

  await api.subscribed((await startReceiver(scope, ok)).url, 'focus.kept');
  await api.publish('focus.kept', {});
  await page.goto('/test/events?type=focus.kept');
  await page.getByRole('button', { name: 'Replay many' }).click();
  await dialog.getByRole('checkbox').uncheck();
  await dialog.getByRole('button', { name: 'Replay them' }).and(page.locator(':enabled')).press('Enter');
  await dialog.getByText('It goes on when this is closed').waitFor();
  await dialog.and(isFocused).waitFor();
  await dialog.getByRole('button', { name: 'Close' }).press('Enter');
  await page.getByRole('button', { name: 'Replay many' }).and(isFocused).waitFor();
});

journey('what is said while a dialog is open is heard, and seen above it', async ({ page }) => {
  await page.goto('/test/keys');
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Copy' }).click();
  // A role is not found in what is hidden from screen readers, nor is covered what can be pressed.
  await page
    .getByRole('status')
    .getByText(/^Copied\.|does not let this page copy/)
    .click({ trial: true });
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

/** Of a list of 50, three in each row. */
const STOPS_OF_LIST_MAX = 250;
/** What is in the way of what has the focus, null where nothing is. */
const COVER = `(() => {
  const focused = document.activeElement;
  const box = focused.getBoundingClientRect();
  const top = document.elementFromPoint(box.left + Math.min(10, box.width / 2), (box.top + box.bottom) / 2);
  return top === null || focused.contains(top) || top.contains(focused) ? null : top.outerHTML.slice(0, 200);
})()`;

journey('in a zoomed window Tab goes down the page, to nothing out of view or covered', async ({ page }) => {
  const stop = page.locator(':focus');
  for (const [width, height] of [
    [1_093, 500],
    [640, 450],
  ] as const) {
    await page.setViewportSize({ width, height });
    await page.goto('/test/deliveries');
    await page.locator('tbody input').first().check();
    await page.getByRole('region', { name: 'Selected' }).waitFor();
    await page.locator('.skip').focus();
    let last = '';
    for (let stops = 0; stops < STOPS_OF_LIST_MAX; stops++) {
      await page.keyboard.press('Tab');
      if ((await stop.count()) === 0) break;
      await assertVisible(page);
      assert.equal(await page.evaluate(COVER), null, `${width} × ${height}`);
      last = await stop.innerText();
    }
    assert.match(last, /^Sign out/, 'below the page, the settings come after it');
  }
});

/** As they are heard one after another, without what is around them. */
const BUTTONS = `[...document.querySelectorAll('main button')].map((button) =>
  button.getAttribute('aria-label') ?? button.textContent)`;

journey('of the buttons of a page each says what it is about', async ({ page }) => {
  const { brokenDestination, deadId } = traffic();
  await api.subscribe(brokenDestination, 'row.one', { '$.n': 1 });
  await api.subscribe(brokenDestination, 'row.two', { '$.n': 1 });
  const admin = new Api(service, await createKey(service, 'test', 'admin'));
  await admin.expect(201, 'POST', '/v1/api-keys', { name: 'Of a row', mode: 'test', scopes: ['read'] });
  const shown = {
    '': 'Pause Northwind warehouse',
    [`/destinations/${brokenDestination.id}`]: 'Try row.two {"$.n":1}',
    '/dlq': 'Replay Northwind warehouse: Retries exhausted',
    '/keys': /^Revoke Of a row, pr_test_/,
    [`/deliveries/${deadId}`]: 'Raw Body of the request',
  };
  for (const [path, name] of Object.entries(shown)) {
    await page.goto(`/test${path}`);
    await page.getByRole('button', { name, exact: true }).waitFor();
    const names = (await page.evaluate(BUTTONS)) as string[];
    assert.deepEqual(names, [...new Set(names)], path);
  }
});

const LONG = 'name_without_a_place_to_break_'.repeat(8);
const LONG_TYPE = `long.${LONG.slice(0, 60)}`;
/** Whatever is wider than its place, but for the navigation of narrow windows and what is there to be scrolled. */
const TOO_WIDE = `[document.documentElement, ...document.querySelectorAll('.table-wrap, .dialog')]
  .filter((element) => element.scrollWidth > element.clientWidth).map(({ tagName, className }) => tagName + className)`;

journey('what is long fits, and what goes by its own button leaves the focus on the page', async ({ page }) => {
  const admin = new Api(service, await createKey(service, 'test', 'admin'));
  await admin.expect(201, 'POST', '/v1/api-keys', { name: LONG, mode: 'test', scopes: ['read'] });
  const destination = await api.destination((await startReceiver(scope, ok)).url, { name: LONG });
  await api.subscribe(destination, 'long.name', { '$.name': LONG });
  const { event_id: eventId } = await api.publish('long.name', { name: LONG });
  const { event_id: longTypeId } = await api.publish(LONG_TYPE, {});
  const shown: { path: string; opener?: string; text: string }[] = [
    { path: `/destinations/${destination.id}`, opener: 'Delete', text: `Delete ${LONG}` },
    { path: `/destinations/${destination.id}`, opener: 'Try', text: 'holds' },
    { path: `/events/${eventId}`, text: 'holds' },
    { path: '/deliveries', text: LONG },
    { path: '/keys', text: LONG },
    { path: `/send?from=${longTypeId}`, text: `Take the body of the last ${LONG_TYPE}` },
  ];
  for (const width of [1_280, 1_100, 820, 375]) {
    await page.setViewportSize({ width, height: 900 });
    for (const { path, opener, text } of shown) {
      await page.goto(`/test${path}`);
      if (opener !== undefined) await page.getByRole('button', { name: opener }).click();
      await page.locator(':is(td, p, .dialog, .field)').getByText(text, { exact: true }).first().waitFor();
      assert.deepEqual(await page.evaluate(TOO_WIDE), [], `${path} at ${width}`);
    }
  }
  await page.goto('/test/deliveries');
  await page.getByLabel('Select all on this page').check();
  const [first, second] = await Promise.all(
    ['Status', 'Destination'].map((label) => page.getByLabel(label, { exact: true }).boundingBox()),
  );
  assert.equal(first!.y, second!.y, 'two filters beside each other leave room for the list');
  await page.goto(`/test/destinations/${destination.id}`);
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('It gets nothing').waitFor();
  await page.locator('main:focus').waitFor();
});

journey('what is told by a shape is to be seen in forced colours', async ({ page }) => {
  await page.emulateMedia({ forcedColors: 'active' });
  await page.goto('/test/deliveries?status=dead');
  await page.locator('.marks i').first().waitFor();
  const grounds = `['.marks i', 'body'].map((each) => getComputedStyle(document.querySelector(each)).backgroundColor)`;
  const [color, ground] = (await page.evaluate(grounds)) as string[];
  assert.notEqual(color, ground);
});

journey(
  'a field to choose a destination has a name while the choices are shown, and one of them is marked',
  async ({ page }) => {
    const session = await page.context().newCDPSession(page);
    await page.setViewportSize({ width: 720, height: 450 });
    await page.goto('/test/events');
    await page.getByRole('button', { name: 'Replay many' }).click();
    await page.getByRole('combobox', { name: 'To' }).fill('northwind');
    const option = page.getByRole('option', { name: 'Northwind warehouse' });
    await option.waitFor();
    await option.and(page.locator('[data-highlighted]')).waitFor();
    const { nodes } = await session.send('Accessibility.getFullAXTree');
    const names = ['combobox', 'listbox'].map((role) => nodes.find((node) => node.role?.value === role)?.name?.value);
    assert.deepEqual(names, ['To', 'To']);
    assert.notEqual(await option.evaluate('(element) => getComputedStyle(element).outlineStyle'), 'none');
    const [list, choice] = [await page.getByRole('listbox').boundingBox(), await option.boundingBox()];
    assert.ok(list!.height >= choice!.height, 'there is room for one at 200 %');
  },
);

journey('a page is printed dark on white, without what is there to be pressed', async ({ page }) => {
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  await page.goto(`/test/deliveries/${traffic().deadId}`);
  await page.getByRole('heading', { name: /^Attempt 2/ }).waitFor();
  assert.equal(await page.evaluate('getComputedStyle(document.body).color'), 'rgb(24, 24, 27)');
  assert.equal(await page.getByRole('button').count(), 0);
  assert.equal(await page.getByRole('navigation').count(), 0);
  const layout = await page.evaluate(`getComputedStyle(document.querySelector('.columns')).display`);
  assert.equal(layout, 'block', 'what is longer than a sheet begins on the first, in Firefox too');
});

/** Of the first chart, when the page has become the paper's and before it is printed: how wide, and all its colours. */
const NOTE_COLORS = `{
  const canvas = document.querySelector('main canvas');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const colors = new Set(new Uint32Array(data.buffer).map((color) => color & 0xffffff));
  window.printed ??= { missing: canvas.closest('[role=img]').clientWidth - canvas.clientWidth, colors: [...colors] };
}`;
const NOTE_PRINTED = `matchMedia('print').addEventListener('change', () => queueMicrotask(() => ${NOTE_COLORS}))`;
/** The lines of the grid, with blue first, as the canvas has them. */
const LINE = { light: 0xe7_e4_e4, dark: 0x36_2e_2c };

journey(
  'a chart is printed in the colours and to the width of the paper',
  async ({ page }) => {
    await page.goto('/test');
    await page.locator('main canvas').first().waitFor();
    await page.evaluate(NOTE_PRINTED);
    await page.pdf({ format: 'A4' });
    const { missing, colors } = (await page.evaluate('window.printed')) as { missing: number; colors: number[] };
    assert.deepEqual([missing, colors.includes(LINE.light), colors.includes(LINE.dark)], [0, true, false]);
    // As Firefox does it: what is drawn when the event is over is printed.
    await page.evaluate(`window.printed = null; dispatchEvent(new Event('beforeprint')); ${NOTE_COLORS}`);
    const { colors: copied } = (await page.evaluate('window.printed')) as { colors: number[] };
    assert.deepEqual([copied.includes(LINE.light), copied.includes(LINE.dark)], [true, false]);
  },
  { browser: { colorScheme: 'dark' } },
);
