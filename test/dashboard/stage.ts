// What all journeys share: one browser, one service with traffic of several kinds, and sessions that are made once. The
// journeys' files are run in one process (journeys.test.ts), as a browser and a service for each would cost more than
// what they try.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { Api } from '../e2e/api.ts';
import { Service, type Scope } from '../e2e/service.ts';
import { createKey, openBrowser, openPage, signIn } from './browser.ts';
import type { Hand } from './hands.ts';
import { makeTraffic, type Traffic } from './traffic.ts';

type Mode = 'live' | 'test';
type Session = Awaited<ReturnType<ReturnType<Page['context']>['storageState']>>;
/** `scopes`: of the key that is signed in with, all unless some are named; null: nobody is signed in. */
type Options = { scopes?: string | null; mode?: Mode; url?: () => string; browser?: BrowserContextOptions };
/** `faults`: whatever went wrong on the page without anybody having to see it; none may be left at the end. */
export type Visit = { page: Page; faults: string[] };

const ALL_SCOPES = 'publish,read,manage,operate,admin';
const SHOWN_LENGTH = 1_500;

const cleanups: (() => Promise<void>)[] = [];
export const scope: Scope = { after: (cleanup) => cleanups.push(cleanup) };
export const service = new Service();
export const api = new Api(service);
let browser: Browser | string = 'not opened';
let made: Traffic | null = null;
const sessions = new Map<string, Session>();
let key: Promise<string> | null = null;

export function traffic(): Traffic {
  assert.ok(made !== null);
  return made;
}

before(async () => {
  browser = await openBrowser(scope);
  if (typeof browser === 'string') return;
  scope.after(() => service.end());
  await service.start(['--sign-in-link']);
  made = await makeTraffic(scope, api);
});
after(async () => {
  for (const cleanup of cleanups.toReversed()) await cleanup();
});

/** A test on a page of its own, in a browser's profile of its own. It also fails by what the page complains of. */
export function journey(name: string, walk: (visit: Visit) => Promise<void>, options: Options = {}): void {
  test(name, async (t) => {
    if (typeof browser === 'string') {
      t.skip(browser);
      return;
    }
    const visit = await visitWith(browser, options);
    try {
      await walk(visit);
      assert.deepEqual(visit.faults, []);
    } catch (error) {
      const shown = await visit.page.locator('body').innerText();
      t.diagnostic(`at ${visit.page.url()}: ${visit.faults.join('; ')}\n${shown.slice(0, SHOWN_LENGTH)}`);
      throw error;
    } finally {
      await visit.page.context().close();
    }
  });
}

/** To the overview of the test environment, as whoever comes with a key of it does. */
export async function signInBy(hand: Hand, page: Page): Promise<void> {
  key ??= createKey(service, 'test', ALL_SCOPES);
  await page.goto('/');
  await hand.write(page.getByLabel('API key'), await key);
  await hand.press(page.getByRole('button', { name: 'Sign in' }));
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
}

/** A profile that is signed in, or not. */
async function visitWith(opened: Browser, { scopes = ALL_SCOPES, mode = 'test', url, browser: options }: Options) {
  const address = url?.() ?? service.url;
  const storageState = scopes === null ? undefined : await sessionOf(opened, mode, scopes);
  return openPage(opened, address, { ...options, ...(storageState !== undefined && { storageState }) });
}

async function sessionOf(opened: Browser, mode: Mode, scopes: string): Promise<Session> {
  const known = sessions.get(`${mode} ${scopes}`);
  if (known !== undefined) return known;
  const { page } = await openPage(opened, service.url);
  await signIn(page, await createKey(service, mode, scopes));
  const session = await page.context().storageState();
  await page.context().close();
  sessions.set(`${mode} ${scopes}`, session);
  return session;
}
