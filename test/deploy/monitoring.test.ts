// What deploy/ has for those who watch: alerts and a dashboard ask only for metrics and labels that there are, and the
// rules are good for Prometheus itself, where that is installed.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { createMetrics } from '../../src/runtime/metrics.ts';

const ALERTS = fileURLToPath(new URL('../../deploy/prometheus/alerts.yaml', import.meta.url));
const DASHBOARD = fileURLToPath(new URL('../../deploy/grafana/postrider.json', import.meta.url));

type Rule = { alert: string; expr: string; annotations: { summary: string } };
type Panel = {
  id: number;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets: { expr: string }[];
};

const rules = (parse(readFileSync(ALERTS, 'utf8')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (one) => one.rules,
);
const dashboard = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as { panels: Panel[] };
const expressions = [
  ...rules.map(({ alert, expr }) => ({ where: alert, expr })),
  ...dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ where: title, expr }))),
];

test('alerts and panels ask for metrics that there are, by labels that these have', async () => {
  const known = await listMetrics();
  for (const { where, expr } of expressions) {
    const asked = [...expr.matchAll(/\b((?:postrider|process)_\w+)(?:\{([^}]*)\})?/g)];
    if (!expr.startsWith('up{')) assert.ok(asked.length > 0, where);
    for (const [, name, matchers = ''] of asked) {
      const labels = known.get(name!);
      assert.ok(labels !== undefined, `${where}: ${name}`);
      for (const [, label] of matchers.matchAll(/(\w+)\s*[=!]/g)) {
        assert.ok(
          labels.includes(label!) || label === 'job' || label === 'instance',
          `${where}: ${name} has no ${label}`,
        );
      }
    }
  }
});

test('panels have an id each and do not lie on one another', () => {
  const { panels } = dashboard;
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  const taken = new Map<string, string>();
  for (const { title, gridPos } of panels) {
    assert.ok(gridPos.x + gridPos.w <= 24, title);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        assert.equal(taken.get(`${x} ${y}`), undefined, title);
        taken.set(`${x} ${y}`, title);
      }
    }
  }
});

describe('promtool', { skip: hasPromtool() ? false : 'promtool (of Prometheus) is not installed' }, () => {
  test('accepts the rules', () => {
    const output = execFileSync('promtool', ['check', 'rules', ALERTS], { encoding: 'utf8' });
    assert.match(output, new RegExp(`SUCCESS: ${rules.length} rules found`));
  });

  test('accepts what the dashboard asks', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'postrider-rules-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'dashboard.json');
    writeAsRules(file);
    const output = execFileSync('promtool', ['check', 'rules', file], { encoding: 'utf8' });
    assert.match(output, new RegExp(`SUCCESS: ${expressions.length} rules found`));
  });
});

/** The dashboard's expressions as a file of rules, its variables filled in. */
function writeAsRules(file: string): void {
  const fill = (expr: string): string =>
    expr.replaceAll('$__rate_interval', '5m').replaceAll(/\$(?:job|instance)/g, '.*');
  const recorded = expressions.map(({ expr }, n) => ({ record: `panel:${n}`, expr: fill(expr) }));
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules: recorded }] }));
}

/** Every series by name, and its labels. */
async function listMetrics(): Promise<Map<string, readonly string[]>> {
  const metrics = createMetrics('1.2.3');
  const zero = (): number => 0;
  const none = (): Promise<number> => Promise.resolve(0);
  const gauges = {
    onWire: zero,
    waiting: zero,
    shardsOwned: zero,
    oldestDueSeconds: zero,
    streamsOpen: zero,
    operationsRunning: zero,
    eventLoopDelaySeconds: zero,
  };
  metrics.watch({ ...gauges, unfinished: none, storedBytes: none, largestBacklogs: () => Promise.resolve([]) });
  const known = new Map<string, readonly string[]>();
  for (const { name, type } of await metrics.registry.getMetricsAsJSON()) {
    const { labelNames } = metrics.registry.getSingleMetric(name) as unknown as { labelNames: string[] };
    known.set(type === 'histogram' ? `${name}_bucket` : name, [...labelNames, 'le']);
  }
  return known;
}

function hasPromtool(): boolean {
  try {
    execFileSync('promtool', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
