// npm run screenshots [FOLDER]: every page of the dashboard as a picture, light and dark, wide and narrow, with real
// traffic and with none. To be looked at one by one; says where a page is wider than its window.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { Api } from '../e2e/api.ts';
import { createKey, openBrowser, openPage, signIn } from './browser.ts';
import { Service, type Scope } from '../e2e/service.ts';
import { makeTraffic } from './traffic.ts';

const WIDTHS = [1_280, 390];
const THEMES = ['light', 'dark'] as const;
/** What comes after a page's first data: names, charts. */
const SETTLE_MS = 500;

const folder = process.argv[2] ?? 'screenshots';
const cleanups: (() => Promise<void>)[] = [];
const scope: Scope = { after: (cleanup) => cleanups.push(cleanup) };
try {
  await main();
} finally {
  for (const cleanup of cleanups.toReversed()) await cleanup();
}

async function main(): Promise<void> {
  const browser = await openBrowser(scope);
  if (typeof browser === 'string') throw new Error(browser);
  const service = new Service();
  scope.after(() => service.end());
  await service.start();
  const paths = await pathsOf(new Api(service));
  await mkdir(folder, { recursive: true });
  const keys = [await createKey(service, 'live'), await createKey(service, 'test')];
  for (const theme of THEMES) {
    for (const width of WIDTHS) await shootAll(browser, { url: service.url, keys, theme, width, paths });
  }
}

async function pathsOf(api: Api): Promise<Record<string, string>> {
  const { deadId, brokenDestination } = await makeTraffic(scope, api);
  const { event_id: eventId } = await api.delivery(deadId);
  return {
    overview: '/test',
    'overview-empty': '/live',
    deliveries: '/test/deliveries',
    'deliveries-none-match': '/test/deliveries?event_id=evt_none',
    'deliveries-empty': '/live/deliveries',
    delivery: `/test/deliveries/${deadId}`,
    events: '/test/events',
    event: `/test/events/${eventId}`,
    send: `/test/send?from=${eventId}`,
    destinations: '/test/destinations',
    destination: `/test/destinations/${brokenDestination.id}`,
    'destination-unknown': '/test/destinations/dst_none',
    'dead-letters': '/test/dlq',
    'dead-letters-empty': '/live/dlq',
    operations: '/test/operations',
    keys: '/test/keys',
    cluster: '/test/cluster',
    'sign-in': '/sign-in?reason=link',
    'no-such-page': '/test/nothing',
  };
}

type Shots = {
  url: string;
  keys: readonly string[];
  theme: (typeof THEMES)[number];
  width: number;
  paths: Record<string, string>;
};

async function shootAll(browser: Browser, { url, keys, theme, width, paths }: Shots): Promise<void> {
  const { page, faults } = await openPage(browser, url, { colorScheme: theme, viewport: { width, height: 900 } });
  for (const key of keys) await signIn(page, key);
  for (const [name, path] of Object.entries(paths)) {
    await page.goto(path);
    await page.waitForTimeout(SETTLE_MS);
    await shoot(page, `${name}-${width}-${theme}`);
  }
  await page.goto('/test');
  await page.getByRole('button', { name: /^Search/ }).click();
  await page.getByRole('combobox').fill('or');
  await page.waitForTimeout(SETTLE_MS);
  await shoot(page, `search-${width}-${theme}`);
  await page.goto('/test/destinations');
  await page.getByRole('button', { name: 'Add a destination' }).click();
  await page.getByRole('dialog').locator('summary').click();
  await shoot(page, `add-destination-${width}-${theme}`);
  await page.goto(paths['destination']!);
  await page.getByRole('button', { name: 'Rotate' }).click();
  await shoot(page, `rotate-${width}-${theme}`);
  for (const fault of faults) console.error(`${theme}, ${width}: ${fault}`);
}

async function shoot(page: Page, name: string): Promise<void> {
  const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
  if (Number(overflow) > 0) console.error(`${name}: ${String(overflow)} pixels wider than the window`);
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}
