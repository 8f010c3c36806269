// Every command of the documentation is run as it stands there, line by line, in a fresh clone. What cannot be run here
// is named with the reason, and shows as skipped. A block that is in no plan fails.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import packageJson from '../../package.json' with { type: 'json' };
import { startReceiver } from '../e2e/receiver.ts';
import { startSvix, SVIX_TOKEN } from '../support/svix-server.ts';
import type { PostgresServer } from '../store/postgres/server.ts';
import { sharedPostgres } from '../store/postgres/shared.ts';
import { blocksOf, pagesOfDocs, ROOT, type Block } from './blocks.ts';
import { Reader, type Stand } from './reader.ts';

type Run = {
  /** What its first line begins with. */
  starts: string;
  inNewTerminal?: boolean;
  /** Lines of it that are not run, by what they begin with, and why. */
  leftOut?: Record<string, string>;
  /** Test data, and what the page says in words. */
  before?: (reader: Reader) => Promise<unknown>;
  /** Of what it prints, or what a receiver does because of it. */
  expect?: RegExp;
  /** It asks for something that is on its way: asked again until this comes. */
  eventually?: RegExp;
  after?: (reader: Reader) => Promise<unknown>;
};
type NotRun = { starts: string; notRun: string };
type Plan = { stands?: (t: TestContext) => Promise<Stand[]>; blocks: readonly (Run | NotRun)[] };

const NEEDS_ROOT = 'needs root and systemd; test/deploy/ checks the unit, and starts what it starts';
const NEEDS_CITUS = 'needs a Citus cluster';
const DATABASE = 'postgres://postrider:…@db.internal:5432/postrider';

let postgres: PostgresServer;
before(async () => {
  postgres = await sharedPostgres();
});
after(() => postgres.stop());

const PLANS: Record<string, Plan> = {
  'README.md': {
    async stands(t) {
      const receiver = await startReceiver(t, (request) => request.answer(request.path === '/dead' ? 500 : 200));
      return [['https://example.com/', receiver.url]];
    },
    blocks: [
      {
        starts: 'npm start',
        inNewTerminal: true,
        expect: /Your test key, shown this once/,
      },
      { starts: 'bin/postrider demo', expect: /Everything arrived, and every signature was verified/ },
      { starts: 'URL=' },
      { starts: 'api POST destinations', expect: /"status":"paused"[^]*"status":"active"/ },
      { starts: 'api POST destinations/dst_…/signing-keys', expect: /"signing_secret":"whsec_/ },
      { starts: 'api POST subscriptions', expect: /"event_type":"order\.\*"/ },
      { starts: 'api POST events', expect: /"event_id":"evt_/ },
      { starts: 'api GET ', before: makeDeadDeliveries, expect: /"dead_reason":"exhausted"/ },
      { starts: 'api DELETE subscriptions' },
      { starts: 'KEY=$(', expect: /"secret":"pr_test_/ },
    ],
  },
  'docs/guides/quick-start.md': {
    blocks: [
      { starts: 'npm start', inNewTerminal: true, after: saysTheSame },
      { starts: 'bin/postrider login', expect: /is the profile "default"/ },
      { starts: 'bin/postrider receive', expect: /Receiving on/ },
      { starts: 'bin/postrider listen', expect: /whsec_\S+=\n/ },
      { starts: 'bin/postrider trigger', expect: /order\.paid +evt_\w+ +→ 200/ },
      { starts: 'kill $!', expect: /signing_secret +whsec_/ },
      { starts: 'bin/postrider subscriptions', expect: /evt_\w+ {2}dlv_\w+ {2}attempt 1/ },
      { starts: 'bin/postrider deliveries list', eventually: /succeeded {2}200/ },
      { starts: 'kill %1', expect: /Receiving on/ },
      { starts: 'bin/postrider trigger', expect: /order\.paid {2}✔ verified {2}→ 500/ },
      { starts: 'bin/postrider deliveries list', eventually: /retrying {2}500/ },
      { starts: 'bin/postrider deliveries get', expect: /bad_status +500[^]*^state {2}/m },
      { starts: 'kill $!', expect: /Receiving on/ },
      { starts: 'bin/postrider deliveries retry', expect: /order\.paid {2}✔ verified {2}→ 200/ },
      { starts: 'bin/postrider deliveries get', eventually: /^status +succeeded/m },
      { starts: 'kill $!' },
      { starts: 'bin/postrider keys create', expect: /^pr_live_\w{36}$/m },
    ],
  },
  'docs/guides/command-line.md': {
    async stands(t) {
      const receiver = await startReceiver(t);
      return [['https://example.com/', receiver.url]];
    },
    blocks: [
      {
        starts: 'bin/postrider login',
        before: (reader) => reader.follow(['npm start'], { inNewTerminal: true }),
        expect: /is the profile "default"/,
      },
      { starts: 'bin/postrider destinations create', expect: /event_type +order\.\*\*/ },
      { starts: 'bin/postrider publish', expect: /✘ \$\.total \$gte 100; found 90[^]*destinations: 1 active/ },
      {
        starts: 'bin/postrider listen',
        expect: /whsec_\S+=\n/,
      },
      {
        starts: 'bin/postrider trigger',
        expect: /order\.paid +evt_\w+ +→ ✘/,
        after: (reader) => reader.follow(['kill $!']),
      },
      { starts: 'bin/postrider dlq list', expect: /destination_recovery/ },
      { starts: 'bin/postrider keys create', expect: /^ID +KEY/m },
      { starts: 'bin/postrider completion', after: (reader) => reader.follow(['source ./postrider.bash']) },
    ],
  },
  'docs/guides/follow-live.md': {
    blocks: [
      {
        starts: 'KEY=',
        before: (reader) => reader.follow(['bin/postrider serve'], { inNewTerminal: true }),
        expect: /^:$/m,
      },
      { starts: 'EVENT=', expect: /^event: event\ndata: \{"event_id":"evt_/m },
      { starts: 'kill $!', expect: /^:$/m, after: (reader) => reader.follow(['kill $!']) },
    ],
  },
  'docs/guides/moving-from-svix.md': {
    async stands(t) {
      const [svix, receiver] = [await startSvix(t), await startReceiver(t)];
      svix.addEndpoint(svix.addApplication(), { url: receiver.url, channels: ['eu'] });
      return [
        ['https://api.eu.svix.com', svix.url],
        ['sk_…', SVIX_TOKEN],
      ];
    },
    blocks: [
      {
        starts: 'export SVIX_TOKEN',
        before: (reader) => reader.follow(['npm start'], { inNewTerminal: true }),
        expect: /to create {2}http[^]*! channels: [^]*A dry run: nothing was changed/,
      },
      { starts: 'bin/postrider import', expect: /1 application, 1 endpoint: 1 created/ },
    ],
  },
  'docs/guides/outbox.md': {
    stands: async () => [['postgres://shop@db.internal:5432/shop', await emptyDatabase()]],
    blocks: [
      {
        starts: 'bin/postrider relay --print-schema',
        before: (reader) => reader.follow(['bin/postrider serve'], { inNewTerminal: true }),
        leftOut: { 'psql ': 'needs psql; what it would run is run' },
        after: ({ folder }) => postgres.query(readFileSync(join(folder, 'outbox.sql'), 'utf8'), `docs_${databases}`),
      },
      {
        starts: 'export POSTRIDER_API_KEY',
        expect: /publishing outbox of .* to http/,
        after: (reader) => reader.follow(['kill $!']),
      },
    ],
  },
  'docs/guides/bad-day.md': {
    async stands(t) {
      const receiver = await startReceiver(t, (request) => request.answer(500));
      return [
        ['https://example.com/', receiver.url],
        ['2026-01-28', '2020-01-28'],
        ['2026-01-31', '2020-01-31'],
      ];
    },
    blocks: [
      {
        starts: 'URL=',
        before: (reader) => reader.follow(['npm start'], { inNewTerminal: true }),
        after: makeDeadDeliveries,
      },
      { starts: 'api GET destinations/dst_…/health', expect: /"summary":"/ },
      { starts: 'api POST destinations/dst_…/recover', expect: /"count":2,"oldest":"20/ },
      { starts: 'api POST destinations/dst_…/recover', expect: /"kind":"destination_recovery"[^]*"total":2/ },
      { starts: 'api POST dlq/replay', expect: /"count":0/ },
      { starts: 'api POST events/replay', expect: /"count":0/ },
      { starts: 'api GET operations', expect: /"data":\[\{"id":"op_/ },
    ],
  },
  'docs/guides/backup-and-restore.md': {
    blocks: [
      {
        starts: 'mkdir -p backups',
        before: (reader) =>
          reader.follow(['bin/postrider serve --data-dir /var/lib/postrider'], { inNewTerminal: true }),
        expect: /backups\/2026-01-31\.db holds the database/,
      },
      { starts: 'bin/postrider backup', expect: /backups\/\d{4}-\d\d-\d\d-\d{4}\.db holds the database/ },
      { starts: 'mv ', before: (reader) => reader.stopServer(), after: isServingWithTheOldKey },
    ],
  },
  'docs/guides/running.md': {
    stands: async () => [[`${DATABASE}?sslmode=verify-full`, await emptyDatabase()]],
    blocks: [
      { starts: 'bin/postrider serve', expect: /Your test key/ },
      { starts: 'sudo useradd', notRun: NEEDS_ROOT },
      { starts: 'sudo journalctl', notRun: NEEDS_ROOT },
      { starts: 'sudo cp deploy/Caddyfile', notRun: 'needs Caddy, a name and root; test/deploy/ looks at the file' },
      { starts: 'export POSTRIDER_DATABASE_URL', inNewTerminal: true, expect: /Your test key/ },
      { starts: 'bin/postrider keys create', expect: /^ID .*[^]*is revoked/m },
      { starts: 'docker build', notRun: 'needs a container engine; CI builds the image and starts it' },
    ],
  },
  'docs/guides/scaling.md': {
    stands: async () => [
      [`${DATABASE}?sslmode=verify-full`, await emptyDatabase()],
      [DATABASE, postgres.urlOf(`docs_${databases}`)],
    ],
    blocks: [
      {
        starts: 'bin/postrider copy',
        before: (reader) =>
          reader.follow(['bin/postrider keys create --mode test --init --data-dir /var/lib/postrider']),
        expect: /The database holds the whole store/,
      },
      { starts: 'export POSTRIDER_MASTER_KEY', after: isServingWithTheOldKey },
      { starts: 'bin/postrider serve --processes', after: isServingWithTheOldKey },
    ],
  },
  'docs/guides/tracing.md': {
    blocks: [{ starts: 'export OTEL_EXPORTER', inNewTerminal: true, expect: /Your test key/ }],
  },
  'docs/guides/citus.md': {
    blocks: blocksOf('docs/guides/citus.md')
      .filter(isCommands)
      .map(({ lines }) => ({ starts: lines[0]!, notRun: NEEDS_CITUS })),
  },
  'docs/benchmarks.md': {
    blocks: [{ starts: 'npm run bench -- --json', notRun: 'takes minutes, and measures the machine' }],
  },
  'CONTRIBUTING.md': {
    blocks: [{ starts: 'TEST_POSTGRES_BIN', notRun: 'needs another installation of PostgreSQL' }],
  },
};

test('every command block of every page is in a plan, in order', () => {
  for (const page of pagesOfDocs()) {
    const found = blocksOf(page).filter(isCommands);
    const planned = PLANS[page]?.blocks ?? [];
    for (const [i, { line, lines }] of found.entries()) {
      const starts = planned[i]?.starts;
      assert.ok(starts !== undefined && lines[0]!.startsWith(starts), `${page}:${line}: say in PLANS how this is run`);
    }
    assert.equal(planned.length, found.length, page);
  }
});

test('npm knows every script that is named', () => {
  for (const page of pagesOfDocs()) {
    for (const [, name] of readFileSync(join(ROOT, page), 'utf8').matchAll(/\bnpm run ([\w:-]+)/g)) {
      assert.ok(Object.hasOwn(packageJson.scripts, name!), `${page}: ${name}`);
    }
  }
});

test('no command has a comment, which zsh would give it as arguments', () => {
  for (const { page, line, lines } of pagesOfDocs().flatMap(blocksOf).filter(isCommands)) {
    for (const one of lines) assert.doesNotMatch(one, /(^|\s)#/, `${page}:${line}`);
  }
});

for (const [page, { stands, blocks }] of Object.entries(PLANS)) {
  describe(page, () => {
    test('can be followed from the first line to the last', async (t) => {
      const isRun = blocks.some((plan) => !('notRun' in plan));
      const reader = isRun ? await Reader.arrive(t, await stands?.(t)) : null;
      for (const [i, block] of blocksOf(page).filter(isCommands).entries()) {
        const plan = blocks[i]!;
        const title = `${block.line}: ${block.lines[0]}`;
        if ('notRun' in plan) await t.test(title, { skip: plan.notRun });
        else await t.test(title, () => runBlock(reader!, block, plan));
        const leftOut = 'notRun' in plan ? {} : (plan.leftOut ?? {});
        for (const [line, reason] of Object.entries(leftOut)) await t.test(`${block.line}: ${line}`, { skip: reason });
      }
    });
  });
}

async function runBlock(reader: Reader, { lines }: Block, plan: Run): Promise<void> {
  const { inNewTerminal = false, leftOut = {}, expect, eventually } = plan;
  await plan.before?.(reader);
  const from = reader.shell.output.length;
  const run = lines.filter((line) => !Object.keys(leftOut).some((start) => line.startsWith(start)));
  assert.equal(run.length, lines.length - Object.keys(leftOut).length);
  let printed = await reader.follow(run, { inNewTerminal });
  while (eventually !== undefined && !eventually.test(printed)) printed = await reader.follow(run);
  if (expect !== undefined && inNewTerminal) assert.match(printed, expect);
  else if (expect !== undefined) await reader.shell.until(expect, from);
  await plan.after?.(reader);
}

/** Two, so that one is there while the other is sent again. */
async function makeDeadDeliveries(reader: Reader): Promise<void> {
  const event = '{"type":"made.dead","body":{}}';
  await reader.follow([
    `api POST destinations '{"url":"https://example.com/dead","retry_policy":{"schedule_seconds":[]}}'`,
    `api POST subscriptions '{"destination_id":"dst_…","event_type":"made.dead"}'`,
    `api POST events/batch '{"events":[${event},${event}]}'`,
  ]);
  let dead = '';
  while (dead.split('"dead_reason":"exhausted"').length < 3) dead = await reader.follow(['api GET dlq']);
}

/** What the service says at its first start are the first lines of the page. */
async function saysTheSame(reader: Reader): Promise<void> {
  const [, said] = await reader.server.until(/in a second terminal:\n\n([^]*?)\n\n/);
  const names = said!.split('\n').map((line) => line.split(' ').slice(0, 2).join(' '));
  assert.deepEqual(
    names,
    ['login', 'receive', 'listen', 'trigger'].map((name) => `bin/postrider ${name}`),
  );
}

async function isServingWithTheOldKey({ api, server, folder }: Reader): Promise<void> {
  assert.equal((await api.send('GET', '/v1/events')).status, 200);
  assert.doesNotMatch(server.output.slice(-200), /Your test key/, folder);
}

function isCommands({ language }: Block): boolean {
  return language === 'sh';
}

let databases = 0;
/** The URL of a new one. */
async function emptyDatabase(): Promise<string> {
  const name = `docs_${(databases += 1)}`;
  await postgres.create(name);
  return postgres.urlOf(name);
}
