// Nodes of one cluster: services that share a database, with destinations in many shards.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from './bench.ts';
import { bodyOf, eventOf, runClosed, type Run, type RunOptions } from './cases/throughput.ts';
import type { Database } from './postgres.ts';
import type { Service } from './service.ts';

/** Enough that every node of three owns about as many of them as the others. */
const DESTINATIONS = 96;
const SHARDS = 256;
const SETTINGS = { REACHABILITY_CHECK: 'off' };
const POLL_MS = 100;
/** Joining waits until the membership is stable, then moves a few shards a second. */
const BALANCED_MS_MAX = 60_000;
const FINISHED_POLL_MS = 25;
const FINISHED_MS_MAX = 60_000;

/** What `GET /v1/cluster` says, as far as it is of use here. */
type ClusterView = { data: { shards_owned: number }[] };

export class Cluster {
  readonly #bench: Bench;
  readonly #database: Database;
  readonly nodes: Service[] = [];
  #key = '';

  private constructor(bench: Bench, database: Database) {
    this.#bench = bench;
    this.#database = database;
  }

  /** One node, and the destinations: each has a group at the receiver and an event type to itself. */
  static async start(bench: Bench): Promise<Cluster> {
    const cluster = new Cluster(bench, await bench.postgres.createDatabase());
    const first = await cluster.#addNode();
    cluster.#key = createOperatorKey(cluster.#database);
    first.key = cluster.#key;
    for (let i = 0; i < DESTINATIONS; i++) await first.subscribe(`${bench.receiverUrl}/${groupOf(i)}`, typeOf(i));
    return cluster;
  }

  /** Resolves when that many nodes own all shards, each its share. */
  async grow(count: number): Promise<void> {
    while (this.nodes.length < count) await this.#addNode();
    if (count === 1) return;
    const share = Math.ceil(SHARDS / count);
    for (const startedAt = performance.now(); ; await sleep(POLL_MS)) {
      const shards = (await this.view())!.data.map((node) => node.shards_owned);
      const isShared = shards.length === count && shards.every((owned) => owned <= share);
      if (isShared && shards.reduce((sum, owned) => sum + owned, 0) === SHARDS) return;
      if (performance.now() - startedAt > BALANCED_MS_MAX) throw new Error(`not balanced: ${shards.join(', ')} shards`);
    }
  }

  async #addNode(): Promise<Service> {
    const node = await this.#bench.service({ settings: SETTINGS, database: this.#database });
    node.key = this.#key;
    this.nodes.push(node);
    return node;
  }

  /** Null: this version has no such thing. */
  async view(): Promise<ClusterView | null> {
    const [node] = this.nodes;
    const response = await fetch(`${node!.url}/v1/cluster`, { headers: { authorization: `Bearer ${this.#key}` } });
    if (response.status === 404) return null;
    if (!response.ok) throw new Error(`GET /v1/cluster: ${response.status} ${await response.text()}`);
    return (await response.json()) as ClusterView;
  }

  /** One closed-loop run, over all nodes, until every delivery is recorded by whichever sent it. */
  async run(options: RunOptions): Promise<Run> {
    const before = await this.#finished();
    const whenArrived = async (): Promise<void> => {
      for (const startedAt = performance.now(); ; await sleep(FINISHED_POLL_MS)) {
        const finished = (await this.#finished()) - before;
        if (finished >= options.deliveries) return;
        if (performance.now() - startedAt > FINISHED_MS_MAX)
          throw new Error(`${finished} of ${options.deliveries} were recorded`);
      }
    };
    return runClosed(this.#bench, { programs: this.nodes }, { ...options, key: this.#key, whenArrived });
  }

  async #finished(): Promise<number> {
    const counts = await Promise.all(this.nodes.map((node) => node.metric('postrider_deliveries_finished_total')));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Events for the destinations in turn. */
  loadOf(events: number): RunOptions {
    return { bodies: bodiesForAll(), requests: events, deliveries: events };
  }

  async end(): Promise<void> {
    for (const node of this.nodes) await node.end();
  }
}

export function bodiesForAll(): string[] {
  return Array.from({ length: DESTINATIONS }, (_, i) => eventOf(bodyOf(), typeOf(i)));
}

function groupOf(index: number): string {
  return `ok-${index}`;
}

function typeOf(index: number): string {
  return `cluster.to${index}`;
}

/** The first start's key may not ask about the cluster. */
function createOperatorKey({ settings }: Database): string {
  const variables = Object.entries(settings).map(([name, value]) => [`POSTRIDER_${name}`, value]);
  const parameters = ['--mode', 'test', '--scopes', 'publish,read,manage,operate,admin', '--json'];
  const text = execFileSync(
    fileURLToPath(new URL('../bin/postrider', import.meta.url)),
    ['keys', 'create', ...parameters],
    {
      env: { ...process.env, ...Object.fromEntries(variables) },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  return (JSON.parse(text) as { secret: string }).secret;
}
