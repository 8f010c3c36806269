// A real browser for the tests of the dashboard: Debian's Chromium, installed where it is missing and this is root. A
// test that gets none is skipped, and says what is missing.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { runCommand, type Scope, type Service } from '../e2e/service.ts';

const run = promisify(execFile);
const INSTALL_MS_MAX = 300_000;
/** The first start of a browser on a machine with much else to do. */
const WAIT_MS_MAX = 60_000;
/** The shell draws the same pages without a window around them, for two thirds of the CPU. */
const PACKAGES = ['chromium-headless-shell', 'chromium'];
const PROGRAMS = [...PACKAGES, 'chromium-browser', 'google-chrome'].map((name) => `/usr/bin/${name}`);
const ENSURE_INSTALLED = fileURLToPath(new URL('../../scripts/ensure-installed', import.meta.url));
/** Nothing moves that a test would have to wait for. */
const LOOKS = { viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' } as const;
const TELL_VIOLATIONS = `document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
  console.error('refused by ' + violatedDirective + ': ' + blockedURI));`;
const axe = readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Null where there is none, and none can be installed. */
async function findBrowser(): Promise<string | null> {
  const found = PROGRAMS.find((program) => existsSync(program));
  if (found !== undefined) return found;
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return null;
  const options = { timeout: INSTALL_MS_MAX, env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
  await run('apt-get', ['update', '--quiet'], options).catch(() => undefined);
  for (const name of PACKAGES) {
    const install = ['install', '--yes', '--quiet', '--no-install-recommends', name];
    await run('apt-get', install, options).catch(() => undefined);
    const installed = PROGRAMS.find((program) => existsSync(program));
    if (installed !== undefined) return installed;
  }
  return null;
}

/** The pages as they are now, built; and a browser, or the reason why there is none. */
export async function openBrowser(scope: Scope): Promise<Browser | string> {
  const executablePath = await findBrowser();
  if (executablePath === null) return `no Chromium; as root: apt-get install ${PACKAGES[0]}`;
  await run(ENSURE_INSTALLED, ['--dashboard'], { timeout: INSTALL_MS_MAX });
  // Chromium's own sandbox does not work for root, and nothing is opened but our own pages.
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'], timeout: WAIT_MS_MAX });
  scope.after(() => browser.close());
  return browser;
}

/** A page of a profile of its own. `faults`: what it throws, what its policy refuses, what it asks for and may not. */
export async function openPage(browser: Browser, url: string, options: BrowserContextOptions = {}) {
  const context = await browser.newContext({ baseURL: url, ...LOOKS, ...options });
  context.setDefaultTimeout(WAIT_MS_MAX);
  const page = await context.newPage();
  const faults: string[] = [];
  await page.addInitScript(TELL_VIOLATIONS);
  page.on('pageerror', ({ message }) => faults.push(message));
  // That an endpoint answers 4xx is said there too, and is no fault by itself.
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      faults.push(message.text());
  });
  page.on('response', (response) => {
    const status = response.status();
    if (status === 403 || status >= 500) faults.push(`${status} ${response.request().method()} ${response.url()}`);
  });
  return { page, faults };
}

/** All scopes unless some are named. */
export async function createKey(
  service: Service,
  mode: 'live' | 'test',
  scopes = 'publish,read,manage,operate,admin',
): Promise<string> {
  const argv = ['keys', 'create', '--mode', mode, '--scopes', scopes, '--json'];
  const { stdout } = await runCommand(argv, service.environment());
  return (JSON.parse(stdout) as { secret: string }).secret;
}

export async function signIn(page: Page, key: string): Promise<void> {
  await page.goto('/sign-in');
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
}

type Finding = { id: string; help: string; nodes: { target: string[]; failureSummary: string }[] };

const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const BY_TAG = { runOnly: TAGS };
/** The other theme has the same page in other colours. */
const BY_COLOR = { runOnly: ['color-contrast'] };

/** WCAG 2.2 A and AA, as far as axe can tell, in both themes. */
export async function findBarriers(page: Page): Promise<string[]> {
  // Not as a tag of the page: its policy would refuse it.
  await page.evaluate(await axe);
  const light = await runAxe(page, BY_TAG);
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await runAxe(page, BY_COLOR);
  await page.emulateMedia({ colorScheme: 'light' });
  return [...light, ...dark.map((barrier) => `dark: ${barrier}`)];
}

async function runAxe(page: Page, options: object): Promise<string[]> {
  const running = `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) => violations)`;
  const findings = (await page.evaluate(running)) as Finding[];
  return findings.map(({ id, help, nodes }) => {
    const places = nodes.map((node) => `${node.target.join(' ')} (${node.failureSummary})`);
    return `${new URL(page.url()).pathname}: ${id}: ${help}: ${places.join(', ')}`;
  });
}
