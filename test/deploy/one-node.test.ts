// What deploy/ has for one node on one machine: the systemd unit, TLS in front, what Prometheus is told. As far as can
// be told without root: the files are read as their programs read them, and what the unit starts is started.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parseDocument } from 'yaml';
import { parseDuration, SETTINGS } from '../../src/config.ts';
import { environmentOf } from '../e2e/service.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const folder = mkdtempSync(join(tmpdir(), 'postrider-unit-'));
after(() => rmSync(folder, { recursive: true, force: true }));

describe('deploy/postrider.service', () => {
  const unit = read('deploy/postrider.service');
  const entries = [...unit.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name!, value!] as const);
  const valueOf = (name: string): string => {
    const found = entries.filter(([one]) => one === name);
    assert.equal(found.length, 1, name);
    return found[0]![1];
  };

  it('is one that systemd understands', async (t) => {
    const file = join(folder, 'postrider.service');
    // The program is somewhere else here, and the user is not made.
    writeFileSync(file, unit.replaceAll('/opt/postrider/', ROOT).replace(/^(User|Group)=.*\n/gm, ''));
    try {
      // Words that it does not know are warnings.
      assert.equal((await run('systemd-analyze', ['verify', file])).stderr, '');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      t.skip('systemd-analyze is not on this machine');
    }
  });

  it('gives the service longer to stop than it may take, and the signal to its first process', () => {
    const drainMs = parseDuration(SETTINGS.DRAIN_TIMEOUT.default)!;
    assert.ok(Number(valueOf('TimeoutStopSec')) * 1_000 >= drainMs + 10_000);
    assert.equal(valueOf('KillMode'), 'mixed');
  });

  it('lets it write where it keeps its data and its compiled code, and nowhere else', () => {
    assert.equal(valueOf('ProtectSystem'), 'strict');
    assert.ok(valueOf('ExecStart').endsWith(`--data-dir /var/lib/${valueOf('StateDirectory')}`));
    assert.ok(unit.includes(`NODE_COMPILE_CACHE=/var/cache/${valueOf('CacheDirectory')}`));
  });

  it('starts a service that serves, and that stops with 0', async () => {
    const [program, ...argv] = valueOf('ExecStart')
      .replace('/opt/postrider/', ROOT)
      .replace('/var/lib/', `${folder}/`)
      .split(' ');
    const given = entries
      .filter(([name]) => name === 'Environment')
      .map(([, value]) => value.split('=') as [string, string]);
    const variables = given.map(([name, value]) => [name, value.replace('/var/cache/', `${folder}/cache/`)]);
    const env = { ...environmentOf({ PORT: '0' }), ...(Object.fromEntries(variables) as NodeJS.ProcessEnv) };
    const child = spawn(program!, argv, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    after(() => child.kill('SIGKILL'));
    let url: string | undefined;
    for await (const line of createInterface({ input: child.stdout })) {
      url = /listening on (\S+)/.exec(line)?.[1];
      if (url !== undefined) break;
    }
    assert.equal((await fetch(`${url}/readyz`)).status, 200);
    child.stdout.resume();
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'exit'), [0, null]);
  });
});

describe('deploy/Caddyfile.one-node', () => {
  const caddyfile = read('deploy/Caddyfile.one-node');

  it('leads to the port and address that the service has by default, over HTTPS', () => {
    assert.match(caddyfile, new RegExp(`reverse_proxy ${SETTINGS.HOST.default}:${SETTINGS.PORT.default} `));
    assert.match(caddyfile, /^hooks\.example\.com \{$/m, 'a name alone: Caddy gets its certificate');
  });

  it('keeps what is for operators inside', () => {
    assert.match(caddyfile, /^\t@inside path \/metrics \/healthz \/readyz\n\trespond @inside 404$/m);
    assert.equal(caddyfile.split('{').length, caddyfile.split('}').length, 'every block ends');
  });
});

type Rule = { alert: string; expr: string; for?: string; labels: object; annotations: { summary: string } };

describe('deploy/prometheus/', () => {
  const parse = (name: string): unknown => {
    const document = parseDocument(read(`deploy/prometheus/${name}`), { strict: true, uniqueKeys: true });
    assert.deepEqual([...document.errors, ...document.warnings], [], name);
    return document.toJS();
  };
  const { groups } = parse('alerts.yaml') as { groups: { name: string; rules: Rule[] }[] };
  const rules = groups.flatMap((group) => group.rules);

  it('scrapes the node where it is by default, and reads the rules that are there', () => {
    const { rule_files: files, scrape_configs: jobs } = parse('prometheus.yaml') as {
      rule_files: string[];
      scrape_configs: { job_name: string; static_configs: { targets: string[] }[] }[];
    };
    assert.deepEqual(files, ['alerts.yaml']);
    const targets = jobs.flatMap((job) => job.static_configs).flatMap((config) => config.targets);
    assert.deepEqual(targets, [`${SETTINGS.HOST.default}:${SETTINGS.PORT.default}`]);
    assert.ok(rules.some(({ expr }) => expr.includes(`up{job="${jobs[0]!.job_name}"}`)));
  });

  it('asks only for metrics that there are', () => {
    const rows = [...read('docs/reference/metrics.md').matchAll(/^\| `(\w+)` \| (\w+) \|/gm)];
    const known = new Set(
      rows.flatMap(([, name, type]) =>
        type === 'histogram' ? ['_bucket', '_count', '_sum'].map((suffix) => `${name}${suffix}`) : [name!],
      ),
    );
    assert.ok(known.size > 20);
    for (const { alert, expr } of rules) {
      const asked = [...expr.matchAll(/\bpostrider_\w+/g)].map(([name]) => name);
      assert.ok(asked.length > 0 || expr.startsWith('up{'), alert);
      for (const name of asked) assert.ok(known.has(name), `${alert}: ${name}`);
      assert.equal(expr.split('(').length, expr.split(')').length, alert);
    }
  });

  it('says of each alert what has happened and how bad that is, under a name of its own', () => {
    assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
    for (const { alert, labels, annotations, for: lasting } of rules) {
      assert.match(JSON.stringify(labels), /"severity":"(critical|warning)"/, alert);
      assert.ok(annotations.summary.endsWith('.'), alert);
      assert.ok(lasting === undefined || parseDuration(lasting) !== null, alert);
    }
  });
});
