// What one node records and another watches, over a store in which a batch takes as long to be written as a test wants.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { systemClock } from '../../src/runtime/clock.ts';
import { createIds } from '../../src/runtime/ids.ts';
import type { ClusterStore } from '../../src/store/cluster-store.ts';
import { Exchange } from '../../src/stream/exchange.ts';
import type { Message } from '../../src/stream/message.ts';
import { MemoryCluster } from '../cluster/memory-cluster.ts';
import { SeededRandom } from '../sim/seeded-random.ts';

const ENVIRONMENT = 1;
const BOTH = ['1', '2'].map((text) => ({ texts: [text], lost: 0 }));
const ALIVE = { isAlive: () => true, whenAwake: async () => undefined };
const random = new SeededRandom(1);
const ids = createIds(systemClock, random);

class Node {
  readonly exchange: Exchange;
  readonly received: { texts: string[]; lost: number | null }[] = [];
  readonly store: ClusterStore;
  readonly #id = ids.next('nod');
  /** Until they resolve batches are on their way to the store. */
  #writing: Promise<void> = Promise.resolve();
  #onReceived = (): void => {};
  #onHeard = (_text: string): void => {};
  #onWatched = (): void => {};

  constructor(memory: MemoryCluster) {
    this.store = memory.storeFor(ALIVE);
    this.exchange = new Exchange({
      node: this.#id,
      environments: [ENVIRONMENT],
      store: {
        ...this.store,
        publishMessages: (batch) => this.#writing.then(() => this.store.publishMessages(batch)),
      },
      clock: systemClock,
      onError: (error) => assert.fail(String(error)),
    });
    this.exchange.connect({
      onWatched: () => this.#onWatched(),
      onReceived: (_, messages, lost) => {
        this.received.push({ texts: messages.map(({ data }) => data), lost });
        this.#onReceived();
      },
    });
  }

  /** Resolves when it lives in the cluster and hears what is announced. */
  async start(): Promise<void> {
    await this.joinCluster();
    this.listen();
  }

  async joinCluster(): Promise<void> {
    const about = { name: 'a', version: '0', address: '127.0.0.1', leaseMs: 60_000 };
    await this.store.addNode({ id: this.#id, ...about });
  }

  listen(): void {
    const onAnnounced = (text: string): void => {
      this.exchange.hear(text);
      this.#onHeard(text);
    };
    this.store.listen({ onAnnounced, onGap: () => this.exchange.hearAgain() });
  }

  /** Resolves when another node has said that it watches. */
  watched(): Promise<void> {
    return new Promise((resolve) => (this.#onWatched = resolve));
  }

  async leaveCluster(): Promise<void> {
    await this.store.removeNode(this.#id);
  }

  /** Returns how to let the batches go on. */
  holdWrites(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#writing = promise;
    return resolve;
  }

  publish(text: string): void {
    const about = { kind: 'delivery', destinations: ids.next('dst'), eventType: 'a.b', status: 'pending' } as const;
    const message: Message = { id: ids.next('msg'), ...about, data: text, bodyMembers: '' };
    this.exchange.publish(ENVIRONMENT, [message], 0);
  }

  /** Resolves when the other node's next announcement has been heard. */
  heard(): Promise<string> {
    return new Promise((resolve) => (this.#onHeard = resolve));
  }

  async untilReceived(text: string): Promise<void> {
    while (!this.received.some(({ texts }) => texts.includes(text))) {
      await new Promise<void>((resolve) => (this.#onReceived = resolve));
    }
  }
}

async function startTwo(): Promise<[Node, Node]> {
  const memory = new MemoryCluster(systemClock, random);
  memory.latencyMaxMs = 1;
  const nodes: [Node, Node] = [new Node(memory), new Node(memory)];
  for (const node of nodes) await node.start();
  return nodes;
}

it('receives a batch that was on its way to the store when another node began to watch', async () => {
  const [recorder, watcher] = await startTwo();
  const letGo = recorder.holdWrites();
  recorder.publish('1');
  const { isComplete, messages, begin } = await watcher.exchange.join(ENVIRONMENT, false);
  assert.deepEqual({ isComplete, messages }, { isComplete: true, messages: [] });
  begin();
  letGo();
  await recorder.exchange.idle();
  recorder.publish('2');
  await watcher.untilReceived('2');
  assert.deepEqual(watcher.received, BOTH);
});

it('tells of no loss when it is said how far a node has come while a batch of it is on its way', async () => {
  const [recorder, watcher] = await startTwo();
  const { begin } = await watcher.exchange.join(ENVIRONMENT, false);
  begin();
  const letGo = recorder.holdWrites();
  recorder.publish('1');
  const heard = watcher.heard();
  recorder.exchange.look([{ environment: ENVIRONMENT, isWatched: false, withBodies: false }]);
  await heard;
  // By then it has looked for what it heard of.
  for (let i = 0; i < 10; i++) await watcher.store.readCluster();
  letGo();
  await recorder.exchange.idle();
  recorder.publish('2');
  await watcher.untilReceived('2');
  assert.deepEqual(watcher.received, BOTH);
});

it('is alone until another node shows, by what it says, by living, or by what it has left', async () => {
  const memory = new MemoryCluster(systemClock, random);
  const first = new Node(memory);
  await first.start();
  for (const text of ['1', '2']) {
    const { messages } = await first.exchange.join(ENVIRONMENT, false);
    assert.equal(messages.length, Number(text) - 1, 'its own come back');
    first.publish(text);
    await first.exchange.idle();
    first.exchange.leave(ENVIRONMENT);
    assert.equal(first.exchange.isAlone(), true);
  }
  const second = new Node(memory);
  await second.start();
  assert.equal(second.exchange.isAlone(), true);
  await second.exchange.join(ENVIRONMENT, false);
  assert.deepEqual([first.exchange.isAlone(), second.exchange.isAlone()], [false, false]);

  await first.leaveCluster();
  await second.leaveCluster();
  const successor = new Node(memory);
  await successor.start();
  const { messages } = await successor.exchange.join(ENVIRONMENT, false);
  assert.deepEqual([messages.length, successor.exchange.isAlone()], [2, false]);
});

it('is told who watches also where it joined before it heard the others', async () => {
  const memory = new MemoryCluster(systemClock, random);
  memory.latencyMaxMs = 1;
  const [watcher, recorder] = [new Node(memory), new Node(memory)];
  await watcher.start();
  await watcher.exchange.join(ENVIRONMENT, false);
  await recorder.joinCluster();
  const asked = watcher.heard();
  recorder.exchange.start();
  assert.match(await asked, /./);
  const watched = recorder.watched();
  recorder.listen();
  await watched;
});
