// Several real nodes on one real PostgreSQL, a receiver whose log is the judge, and a publisher that remembers every
// 202 it got.
import assert from 'node:assert/strict';
import { mintKey } from '../../src/cli/keys/mint-key.ts';
import { SCOPES } from '../../src/model/api-key.ts';
import { formatId, idBytes, idShard, type NodeId } from '../../src/model/id.ts';
import { delay, systemClock } from '../../src/runtime/clock.ts';
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { Api, type Destination, type Event } from '../e2e/api.ts';
import { startReceiver, type Receiver, type Respond } from '../e2e/receiver.ts';
import { Service, type Scope, type Settings } from '../e2e/service.ts';
import { MASTER_KEY } from '../store/data-dirs.ts';
import { Databases, storeOptions } from '../store/postgres/databases.ts';
import { isOwn, type PostgresServer } from '../store/postgres/server.ts';

export type ClusterNode = {
  id: NodeId;
  name: string;
  version: string;
  address: string;
  started_at: string;
  last_heartbeat_at: string;
  shards_owned: number;
  is_leaving: boolean;
};
export type ClusterReport = { data: ClusterNode[]; shards_free: number; backlog: number };

export type AttemptAt = { deliveryId: string; attempt: number; at: number };

/** For what comes sooner or later: on a machine with much else to do, later. */
const WAIT_MS_MAX = 90_000;
/** Each look costs the nodes some milliseconds of work. */
const LOOK_EVERY_MS = 100;
const SHARDS = 256;

let made = 0;

export class Stage {
  readonly nodes: Service[] = [];
  readonly server: PostgresServer;
  readonly database: string;
  readonly #scope: Scope;
  readonly #settings: Settings;
  /** For the test environment, with every scope. */
  key = '';
  #named = 0;

  constructor(scope: Scope, server: PostgresServer, settings: Settings) {
    this.#scope = scope;
    this.server = server;
    this.database = `cluster_${process.pid}_${made++}`;
    this.#settings = settings;
  }

  /** One more node, which has joined; it has its share only `whenShared`. */
  async addNode(settings: Settings = {}, variables: Record<string, string> = {}): Promise<Service> {
    const all: Settings = {
      DATABASE_URL: this.server.urlOf(this.database),
      MASTER_KEY: Buffer.from(MASTER_KEY).toString('hex'),
      NODE_NAME: `node-${++this.#named}`,
      REACHABILITY_CHECK: 'off',
      ...this.#settings,
      ...settings,
    };
    const node = new Service(all, variables);
    this.#scope.after(() => node.end());
    await node.start();
    if (this.key === '') this.key = await this.#makeKey();
    node.key = this.key;
    this.nodes.push(node);
    return node;
  }

  /** As `postrider keys create` does, without a process for it. */
  async #makeKey(): Promise<string> {
    const store = await openPostgresStore(storeOptions(this.server.urlOf(this.database)));
    const request = { mode: 'test', name: 'stage', scopes: SCOPES, expiresAt: null } as const;
    const { key, secret } = mintKey(await store.readEnvironments(), request);
    await store.createApiKey(key);
    await store.close();
    return secret;
  }

  api(node: Service): Api {
    return new Api(node, this.key);
  }

  report(node: Service): Promise<ClusterReport> {
    return this.api(node).expect<ClusterReport>(200, 'GET', '/v1/cluster');
  }

  /** Resolves when these are all there are, every shard is somebody's, and no node has more than its share. */
  async whenShared(nodes: readonly Service[] = this.nodes): Promise<ClusterReport> {
    const share = Math.ceil(SHARDS / nodes.length);
    return eventually(
      () => this.report(nodes[0]!),
      ({ data, shards_free: free }) =>
        data.length === nodes.length && free === 0 && data.every(({ shards_owned: owned }) => owned <= share),
    );
  }

  /** As after a while, but at once: moving shards for balance is not in a hurry. */
  async share(): Promise<void> {
    await this.server.query(
      `UPDATE shards SET node = (SELECT id FROM nodes ORDER BY id LIMIT 1 OFFSET shard % ${this.nodes.length})`,
      this.database,
    );
    for (const node of this.nodes) {
      await eventually(
        () => this.metric(node, 'postrider_shards_owned'),
        (owned) => Math.abs(owned - SHARDS / this.nodes.length) < 1,
      );
    }
  }

  /** What a node itself says. */
  async metric(node: Service, name: string): Promise<number> {
    const { text } = await this.api(node).send('GET', '/metrics');
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)![1]);
  }

  /** Resolves when nothing is on a node's wire, or waits for it in memory. */
  async whenNothingIsSent(node: Service): Promise<void> {
    await eventually(
      async () => [
        await this.metric(node, 'postrider_attempts_on_wire'),
        await this.metric(node, 'postrider_deliveries_waiting_in_memory'),
      ],
      (counts) => counts.every((count) => count === 0),
    );
  }

  /** The recorded attempts at a destination in the order in which they began; Unix ms. */
  async attemptsOf({ id }: Pick<Destination, 'id'>): Promise<AttemptAt[]> {
    const uuid = Buffer.from(idBytes(id)).toString('hex');
    const rows = await this.server.query(
      `SELECT delivery_id::text, n, started_at::text AS at FROM attempts WHERE delivery_id IN (
         SELECT id FROM done_deliveries WHERE destination_id = '${uuid}'
         UNION ALL SELECT id FROM open_deliveries WHERE destination_id = '${uuid}') ORDER BY started_at`,
      this.database,
    );
    return rows.map((row) => ({
      deliveryId: formatId('dlv', uuidBytes(row['delivery_id'] as string)),
      attempt: row['n'] as number,
      at: Number(row['at']),
    }));
  }

  /** Whose delivery to this destination is finished, as the store has it. */
  async finishedEvents({ id }: Pick<Destination, 'id'>): Promise<Set<string>> {
    const uuid = Buffer.from(idBytes(id)).toString('hex');
    const rows = await this.server.query(
      `SELECT event_id::text AS id FROM done_deliveries WHERE destination_id = '${uuid}'`,
      this.database,
    );
    return new Set(rows.map((row) => formatId('evt', uuidBytes(row['id'] as string))));
  }

  /** When each of them began. */
  async attemptsAt(destination: Pick<Destination, 'id'>): Promise<number[]> {
    return (await this.attemptsOf(destination)).map(({ at }) => at);
  }

  /** The id that a node has in the cluster, by its name. */
  async idOf(node: Service): Promise<NodeId> {
    const name = node.environment()['POSTRIDER_NODE_NAME'];
    const { data } = await this.report(node);
    return data.find((one) => one.name === name)!.id;
  }

  /** The owner of each shard, as the store has it. */
  async owners(): Promise<(NodeId | null)[]> {
    const rows = await this.server.query('SELECT shard, node::text FROM shards ORDER BY shard', this.database);
    return rows.map(({ node }) => (node === null ? null : toNodeId(node as string)));
  }

  /** A destination that this node sends to, subscribed to an event type of its own. */
  async destinationOf(node: Service, receiver: Receiver, type: string, options: object = {}): Promise<Destination> {
    const id = await this.idOf(node);
    for (;;) {
      const destination = await this.api(node).destination(`${receiver.url}${type}`, options);
      const owners = await this.owners();
      if (owners[idShard(destination.id)] === id) {
        await this.api(node).subscribe(destination, type);
        return destination;
      }
      await this.api(node).expect(204, 'DELETE', `/v1/destinations/${destination.id}`);
    }
  }

  atEnd(cleanup: () => void): void {
    this.#scope.after(async () => cleanup());
  }

  receiver(respond?: Respond): Promise<Receiver> {
    return startReceiver(this.#scope, respond);
  }
}

/** `count` nodes that have their shares. */
export async function startStage(
  scope: Scope,
  server: PostgresServer,
  count: number,
  settings: Settings = {},
): Promise<Stage> {
  const stage = new Stage(scope, server, settings);
  // On a server of the test's own nothing takes up room, or writes, but what its nodes do.
  await server.create(stage.database, isOwn(server) ? undefined : await new Databases(() => server).template());
  await stage.addNode();
  await Promise.all(Array.from({ length: count - 1 }, () => stage.addNode()));
  await stage.share();
  return stage;
}

/** Reads until the condition holds; what fails meanwhile (a node that is away) is tried again. */
export async function eventually<Value>(
  read: () => Promise<Value>,
  holds: (value: Value) => boolean,
  withinMs = WAIT_MS_MAX,
): Promise<Value> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const value = await read().catch((error: unknown) => error);
    if (!(value instanceof Error) && holds(value as Value)) return value as Value;
    if (performance.now() > deadline) {
      assert.fail(`after ${withinMs} ms still ${value instanceof Error ? value.message : JSON.stringify(value)}`);
    }
    await delay(systemClock, LOOK_EVERY_MS);
  }
}

/**
 * Publishes numbered events through the nodes in turn until told to stop; each is answered 202 or 200 in the end. At
 * full speed what is published while a lease runs out would be most of a test's work.
 * `pauseMs`: of each connection between two events. `bodyOf`: what an event says beside its number.
 */
export class Publisher {
  /** The id of each event that was answered, by its number. */
  readonly promised = new Map<number, string>();
  refused = 0;
  readonly #apis: Api[];
  readonly #types: readonly string[];
  readonly #pauseMs: number;
  readonly #bodyOf: (n: number) => object;
  #next = 0;
  #isStopped = false;
  /** The test is over: what is not answered by now never will be. */
  #isOver = false;
  readonly #running: Promise<void>[];

  constructor(
    stage: Stage,
    types: readonly string[],
    { nodes = stage.nodes, connections = 8, pauseMs = 40, bodyOf = (_n: number): object => ({}) } = {},
  ) {
    this.#apis = nodes.map((node) => stage.api(node));
    this.#types = types;
    this.#pauseMs = pauseMs;
    this.#bodyOf = bodyOf;
    stage.atEnd(() => (this.#isOver = this.#isStopped = true));
    this.#running = Array.from({ length: connections }, () => this.#publish());
  }

  async stop(): Promise<string[]> {
    this.#isStopped = true;
    await Promise.all(this.#running);
    return [...this.promised.values()];
  }

  async promisedCount(count: number): Promise<void> {
    await eventually(
      async () => this.promised.size,
      (size) => size >= count,
    );
  }

  async #publish(): Promise<void> {
    while (!this.#isStopped) {
      const n = this.#next++;
      const type = this.#types[n % this.#types.length]!;
      const event = { type, body: { n, ...this.#bodyOf(n) }, idempotency_key: `${type}-${n}` };
      for (let turn = n; !this.#isOver; turn++) {
        const api = this.#apis[turn % this.#apis.length]!;
        // A node that is stopped half-way answers nothing at all: its sender gives up and asks another.
        const posting = api.send<Event>('POST', '/v1/events', event).catch(() => null);
        const answer = await Promise.race([posting, delay(systemClock, 3_000).then(() => null)]);
        if (answer?.status === 202 || answer?.status === 200) {
          this.promised.set(n, answer.body.event_id);
          break;
        }
        this.refused++;
        if (answer !== null) {
          assert.equal(answer.status, 503, answer.text);
          assert.ok(Number(answer.headers.get('retry-after')) > 0);
        }
        await delay(systemClock, LOOK_EVERY_MS);
      }
      if (this.#pauseMs > 0) await delay(systemClock, this.#pauseMs);
    }
  }
}

export type Tally = { promised: number; lost: number; duplicates: number };

/** Waits until everything promised has been taken with a 200; what was taken again is a duplicate. */
export async function tally(receiver: Receiver, promised: readonly string[], withinMs = WAIT_MS_MAX): Promise<Tally> {
  const wanted = new Set(promised);
  await eventually(
    async () => wanted.difference(new Set(takenAt(receiver))).size,
    (missing) => missing === 0,
    withinMs,
  );
  return { promised: wanted.size, lost: 0, duplicates: duplicatesAt(receiver).filter((id) => wanted.has(id)).length };
}

/** Of each event that was taken more than once its id, once for each time after the first. */
export function duplicatesAt(receiver: Receiver): string[] {
  const seen = new Set<string>();
  return takenAt(receiver).filter((id) => seen.size === seen.add(id).size);
}

/** What its sender has given up before the answer counts for nothing: it comes again. */
function takenAt({ requests }: Receiver): string[] {
  return requests.filter(({ status, isGivenUp }) => status === 200 && !isGivenUp).map(({ eventId }) => eventId);
}

function toNodeId(uuid: string): NodeId {
  return formatId('nod', uuidBytes(uuid));
}

function uuidBytes(uuid: string): Uint8Array {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex');
}
