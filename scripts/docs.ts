// Writes the reference pages from the tables in the code: node scripts/docs.ts. With --check it writes nothing and
// fails if a page is not what the code says, or if a link in any page leads nowhere.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generateTypes } from 'postrider-client-generator';
import { createServer } from '../src/api/server.ts';
import type { OpenapiDocument } from '../src/api/openapi/document.ts';
import type { ApiServices } from '../src/api/services.ts';
import { COMMAND_ENTRIES } from '../src/cli/commands.ts';
import { commandHelp } from '../src/cli/help.ts';
import { flagOf, SETTINGS, VERSION } from '../src/config.ts';
import { ERRORS } from '../src/model/error.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { createIds } from '../src/runtime/ids.ts';
import { createMetrics, type Metrics } from '../src/runtime/metrics.ts';
import { systemRandom } from '../src/runtime/random.ts';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const GENERATED = 'This page is generated from the code by `node scripts/docs.ts`.';

const PAGES: Record<string, () => string | Promise<string>> = {
  'docs/reference/errors.md': errorsPage,
  'docs/reference/settings.md': settingsPage,
  'docs/reference/metrics.md': metricsPage,
  'docs/reference/api.md': apiPage,
  'docs/reference/commands.md': commandsPage,
  'dashboard/src/api/schema.d.ts': apiTypes,
  'sdk/typescript/src/schema.ts': apiTypes,
};

function errorsPage(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, meaning, remedy }]) => `| \`${code}\` | ${status} | ${meaning} | ${remedy} |`,
  );
  return page('Errors', [
    'Every error has the body `{"error": {"code", "message", "request_id", "param"?}}`. `param` is a JSON pointer into',
    'the request body or the name of a query parameter; `request_id` is in the `x-request-id` header too.',
    '',
    '| code | status | what it means | what to do |',
    '| --- | --- | --- | --- |',
    ...rows,
  ]);
}

function settingsPage(): string {
  const rows = Object.entries(SETTINGS).map(([name, { default: fallback, unit, meaning }]) => {
    const shown = fallback === '' ? 'empty' : `\`${fallback}\``;
    return `| \`${name}\` | \`${flagOf(name)}\` | ${shown} | ${unit} | ${meaning} |`;
  });
  return page('Settings', [
    'Each setting can be given, the later overriding the earlier: as its default, in a settings file (one JSON object,',
    '`--config FILE` or `POSTRIDER_CONFIG`), in the environment as `POSTRIDER_<NAME>`, or as a flag of the command.',
    'An unknown setting is refused with a suggestion. Durations are written `30d`, `12h`, `5m`, `90s` or `500ms`,',
    'sizes as bytes or `64MB`, `2GB`. `POSTRIDER_URL` and `POSTRIDER_API_KEY` are no settings of the service: they are',
    'for [commands that ask one](../guides/command-line.md).',
    '',
    '| name | flag | default | unit or range | meaning |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
  ]);
}

async function metricsPage(): Promise<string> {
  const metrics = createMetrics(VERSION);
  const zero = () => 0;
  const none = () => Promise.resolve(0);
  const gauges = {
    onWire: zero,
    waiting: zero,
    unfinished: none,
    storedBytes: none,
    eventLoopDelaySeconds: zero,
    shardsOwned: zero,
    oldestDueSeconds: zero,
    streamsOpen: zero,
    operationsRunning: zero,
    largestBacklogs: () => Promise.resolve([]),
  };
  metrics.watch(gauges);
  const all = await metrics.registry.getMetricsAsJSON();
  const rows = all.map(({ name, type, help }) => `| \`${name}\` | ${type} | ${labelsOf(metrics, name)} | ${help} |`);
  return page('Metrics', [
    '`GET /metrics` answers in the Prometheus text format. Labels come from closed lists: no ids, URLs, event types or',
    'names, but for the destinations that `METRICS_PER_DESTINATION` asks for. Counters are there from the start, at 0.',
    'It is open unless `METRICS_TOKEN` is set, which it then asks for as a bearer token.',
    '',
    '| name | type | labels | meaning |',
    '| --- | --- | --- | --- |',
    ...rows,
  ]);
}

function labelsOf(metrics: Metrics, name: string): string {
  const { labelNames } = metrics.registry.getSingleMetric(name) as unknown as { labelNames: string[] };
  return labelNames.map((label) => `\`${label}\``).join(', ');
}

type Operation = { summary?: string; tags?: string[]; responses?: Record<string, { description?: string }> };

async function describeApi(): Promise<OpenapiDocument> {
  // The routes describe themselves when they are added; nothing is called, so nothing else is handed in.
  const services = {
    clock: systemClock,
    ids: createIds(systemClock, systemRandom),
    version: VERSION,
    limits: { maxDestinations: 0, maxSubscriptions: 0, bodyRetentionMs: 0, requestBytesBudget: 0 },
    cursorKey: new Uint8Array(32),
    dashboard: {},
    log: { isLevelEnabled: () => false },
  } as unknown as ApiServices;
  return (await createServer(services)).openapi();
}

/** By these the compiler sees where the dashboard or the client and the API part. */
async function apiTypes(): Promise<string> {
  const types = await generateTypes(JSON.stringify(await describeApi()));
  return `// The API's types, generated from its OpenAPI document by \`node scripts/docs.ts\`.\n\n${types}`;
}

async function apiPage(): Promise<string> {
  const { paths } = await describeApi();
  const rows = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, Operation>).map(([method, operation]) => apiRow(path, method, operation)),
  );
  return page('API', [
    'Every endpoint. A running service describes each in full, with schemas, examples and error codes, at',
    '`GET /openapi.json` (OpenAPI 3.1), made from the same schemas that validate requests; its `webhooks` section has',
    'the request that a destination gets. [Errors](errors.md) has the codes; [concepts](../concepts.md) the words.',
    '',
    'Besides, each answers 405 to a method that it does not have, 408 to who sends too slowly, and 431 to headers that',
    'are too long.',
    '',
    '| method and path | what it does | answers |',
    '| --- | --- | --- |',
    ...rows,
  ]);
}

const ANSWERED_BY_ALL = ['405', '408', '431'];

function apiRow(path: string, method: string, { summary = '', responses = {} }: Operation): string {
  const statuses = Object.keys(responses).filter((status) => !ANSWERED_BY_ALL.includes(status));
  return `| \`${method.toUpperCase()} ${path}\` | ${summary} | ${statuses.sort().join(', ')} |`;
}

async function commandsPage(): Promise<string> {
  const commands = await Promise.all(COMMAND_ENTRIES.map(({ load }) => load()));
  return page('Commands', [
    'What `postrider COMMAND --help` prints. [The guide](../guides/command-line.md) says how they go together.',
    ...commands.flatMap((command) => ['', `## ${command.name}`, '', '```', commandHelp(command), '```']),
  ]);
}

function page(title: string, lines: string[]): string {
  return `# ${title}\n\n${GENERATED}\n\n${lines.join('\n')}\n`;
}

const LINK = /\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g;

/** Links to files of this repository that are not there: `page: link`. */
function findBrokenLinks(): string[] {
  const pages = ['.', 'docs', 'docs/guides', 'docs/reference']
    .flatMap((folder) => readdirSync(join(ROOT, folder)).map((name) => join(ROOT, folder, name)))
    .filter((path) => path.endsWith('.md'));
  return pages.flatMap((path) => {
    const links = [...readFileSync(path, 'utf8').matchAll(LINK)].map(([, link]) => link!);
    return links
      .filter((link) => !existsSync(resolve(dirname(path), link)))
      .map((link) => `${relative(ROOT, path)}: the link to ${link} leads nowhere`);
  });
}

async function run(isCheck: boolean): Promise<number> {
  const faults: string[] = [];
  for (const [path, make] of Object.entries(PAGES)) {
    const file = join(ROOT, path);
    const wanted = await make();
    const found = existsSync(file) ? readFileSync(file, 'utf8') : '';
    if (found === wanted) continue;
    if (isCheck) faults.push(`${path} is not what the code says: run node scripts/docs.ts`);
    else {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, wanted);
    }
  }
  faults.push(...findBrokenLinks());
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  return faults.length === 0 ? 0 : 1;
}

process.exitCode = await run(process.argv.includes('--check'));
