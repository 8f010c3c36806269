// What deploy/ promises, as far as it can be told without a container engine: the files parse, their parts fit
// together, and they set nothing that the program does not know.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import { SETTINGS, VERSION } from '../../src/config.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DEPLOY = 'deploy/';

type Json = { [key: string]: Json };

const files = readdirSync(`${ROOT}${DEPLOY}`, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name !== '.env')
  .map((entry) => `${entry.parentPath}/${entry.name}`);
const read = (file: string): string => readFileSync(file, 'utf8');

/** The one document of a file; throws at whatever YAML 1.2 does not allow, a key given twice too. */
function parse(file: string): Json {
  const documents = parseAllDocuments(read(file), { merge: true, strict: true, uniqueKeys: true });
  assert.ok(Array.isArray(documents) && documents.length === 1, file);
  const [document] = documents;
  assert.deepEqual([...document!.errors, ...document!.warnings], [], file);
  return document!.toJS() as Json;
}

const isSettingName = (name: string): name is keyof typeof SETTINGS => Object.hasOwn(SETTINGS, name);

function word(value: unknown): string {
  assert.ok(typeof value === 'string' || typeof value === 'number', JSON.stringify(value));
  return `${value}`;
}

const seconds = (duration: string): number => {
  const match = /^(\d+)s$/.exec(duration);
  assert.ok(match !== null, duration);
  return Number(match[1]);
};

describe('the files in deploy/', () => {
  it('parse', () => {
    const parsed = files.filter((file) => file.endsWith('.yaml')).map((file) => parse(file));
    assert.equal(parsed.length, 7);
  });

  it('set only settings that there are, to values that these take', () => {
    const names = files.flatMap((file) => [...read(file).matchAll(/\bPOSTRIDER_([A-Z_]+)/g)].map(([, name]) => name!));
    assert.ok(names.length > 8);
    // In Kubernetes' own words, where a comment tells of them.
    for (const name of names) assert.ok(isSettingName(name), name);
    for (const [name, value] of [...settingsOfCompose(), ...settingsOfKubernetes()]) {
      if (!value.includes('${')) assert.doesNotThrow(() => SETTINGS[name].parse(value), name);
    }
  });

  it('hold no secret', () => {
    for (const file of files) assert.doesNotMatch(read(file), /[0-9a-f]{32}/i, file);
  });
});

const compose = parse(`${ROOT}${DEPLOY}compose.yaml`);
const caddyfile = read(`${ROOT}${DEPLOY}Caddyfile`);
const nodes = Object.keys(compose['services']!).filter((name) => name.startsWith('postrider-'));

function settingsOfCompose() {
  const environment = compose['services']!['postrider-1']!['environment']!;
  return Object.entries(environment).map(([name, value]) => settingOf(name, word(value)));
}

function settingOf(variable: string, value: string) {
  const name = variable.replace('POSTRIDER_', '');
  assert.ok(isSettingName(name));
  return [name, value] as const;
}

describe('deploy/compose.yaml', () => {
  it('has three equal nodes, and the load balancer knows each and nothing else', () => {
    assert.equal(nodes.length, 3);
    const [first] = nodes;
    for (const name of nodes) assert.deepEqual(compose['services']![name], compose['services']![first!]);
    const [line] = /reverse_proxy .*/.exec(caddyfile)!;
    assert.deepEqual(
      line.split(' ').slice(1, -1),
      nodes.map((name) => `${name}:${SETTINGS.PORT.default}`),
    );
  });

  it('refers only to what it defines, and publishes the load balancer alone', () => {
    const services = Object.entries(compose['services']!);
    const volumes = Object.keys(compose['volumes']!);
    for (const [name, service] of services) {
      const needed = service['depends_on'] ?? {};
      const names = Array.isArray(needed) ? (needed as string[]) : Object.keys(needed);
      for (const one of names) assert.ok(one in compose['services']!, one);
      assert.equal(service['ports'] !== undefined, name === 'load-balancer', name);
      for (const mount of (service['volumes'] ?? []) as unknown as string[]) {
        const [from] = mount.split(':');
        if (from!.startsWith('./'))
          assert.ok(
            files.some((file) => basename(file) === basename(from!)),
            mount,
          );
        else assert.ok(volumes.includes(from!), mount);
      }
    }
  });

  it('gives a node longer to stop than it may take, and asks for its secrets', () => {
    const node = compose['services']!['postrider-1']!;
    const drain = seconds(word(node['environment']!['POSTRIDER_DRAIN_TIMEOUT']));
    assert.ok(seconds(word(node['stop_grace_period'])) >= drain + 10);
    const asked = [...read(`${ROOT}${DEPLOY}compose.yaml`).matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name);
    const offered = [...read(`${ROOT}${DEPLOY}env.example`).matchAll(/^(\w+)=/gm)].map(([, name]) => name);
    assert.deepEqual(new Set(asked), new Set(offered));
  });

  it('asks the load balancer to look at readiness, and to keep what is for operators inside', () => {
    assert.match(caddyfile, /health_uri \/readyz/);
    assert.match(caddyfile, /@inside path \/metrics/);
    const opened = caddyfile.split('{').length;
    assert.equal(opened, caddyfile.split('}').length, 'every block ends');
  });
});

const kubernetes = new Map(
  files.filter((file) => file.includes('/kubernetes/')).map((file) => [basename(file), parse(file)]),
);
const deployment = kubernetes.get('deployment.yaml')!;
const pod = deployment['spec']!['template']!['spec']!;
const [container] = pod['containers'] as unknown as Json[];
type EnvironmentVariable = { name: string; value?: string; valueFrom?: Json };
const environment = container!['env'] as unknown as EnvironmentVariable[];

function settingsOfKubernetes() {
  return environment.flatMap(({ name, value }) => (value === undefined ? [] : [settingOf(name, value)]));
}

describe('deploy/kubernetes/', () => {
  it('has objects of kinds and versions that a cluster knows', () => {
    const kinds = [...kubernetes.values()].map(({ apiVersion, kind }) => `${word(apiVersion)} ${word(kind)}`);
    assert.deepEqual(kinds.sort(), ['apps/v1 Deployment', 'policy/v1 PodDisruptionBudget', 'v1 Secret', 'v1 Service']);
    for (const { metadata } of kubernetes.values()) assert.equal(metadata!['name'], 'postrider');
  });

  it('selects the same pods everywhere, by labels that they have', () => {
    const { labels } = deployment['spec']!['template']!['metadata'] as unknown as { labels: Json };
    const selectors = [
      deployment['spec']!['selector']!['matchLabels'],
      kubernetes.get('service.yaml')!['spec']!['selector'],
      kubernetes.get('pod-disruption-budget.yaml')!['spec']!['selector']!['matchLabels'],
      (pod['topologySpreadConstraints'] as unknown as Json[])[0]!['labelSelector']!['matchLabels'],
    ];
    for (const selector of selectors) assert.deepEqual(selector, labels);
  });

  it('gives a pod longer to stop than it may take', () => {
    const settings = Object.fromEntries(settingsOfKubernetes());
    const command = container!['lifecycle']!['preStop']!['exec']!['command'] as unknown as string[];
    const least = Number(command.at(-1)) + seconds(settings.DRAIN_TIMEOUT!) + 10;
    assert.ok(Number(pod['terminationGracePeriodSeconds']) >= least);
  });

  it('asks the paths that there are, on the port that is served', () => {
    const [port] = container!['ports'] as unknown as { name: string; containerPort: number }[];
    assert.equal(word(port!.containerPort), Object.fromEntries(settingsOfKubernetes()).PORT);
    const paths = ['startupProbe', 'livenessProbe', 'readinessProbe'].map((probe) => container![probe]!['httpGet']);
    assert.deepEqual(
      paths.map((get) => [get!['path'], get!['port']]),
      ['/healthz', '/healthz', '/readyz'].map((path) => [path, port!.name]),
    );
    const [servicePort] = kubernetes.get('service.yaml')!['spec']!['ports'] as unknown as Json[];
    assert.equal(servicePort!['targetPort'], port!.name);
  });

  it('takes its secrets from the Secret, which has them', () => {
    const secret = kubernetes.get('secret.example.yaml')!;
    const references = environment.flatMap(({ valueFrom }) => (valueFrom === undefined ? [] : [valueFrom]));
    const asked = references.map(({ secretKeyRef }) => secretKeyRef!);
    for (const { name } of asked) assert.equal(word(name), word(secret['metadata']!['name']));
    assert.deepEqual(asked.map(({ key }) => word(key)).sort(), Object.keys(secret['stringData']!).sort());
  });

  it('mounts what it defines, names this version, and may lose one node at a time', () => {
    const mounts = (container!['volumeMounts'] as unknown as { name: string }[]).map(({ name }) => name);
    const volumes = (pod['volumes'] as unknown as { name: string }[]).map(({ name }) => name);
    assert.deepEqual(mounts, volumes);
    assert.ok(word(container!['image']).endsWith(`:${VERSION}`));
    assert.ok(Number(deployment['spec']!['replicas']) > 1);
    assert.equal(kubernetes.get('pod-disruption-budget.yaml')!['spec']!['maxUnavailable'], 1 as unknown as Json);
  });
});
