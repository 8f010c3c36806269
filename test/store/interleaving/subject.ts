// What two writers meet over: one delivery, its event, its destination, in one of the states that it may be in.
import {
  idShard,
  type DeliveryId,
  type DestinationId,
  type EventId,
  type NodeId,
  type SigningKeyId,
  type SubscriptionId,
} from '../../../src/model/id.ts';
import type { NewEvent, ResultToRecord } from '../../../src/store/store.ts';
import { DAY, HOUR, LIVE, die, result, retryAt, succeed, type Scene } from '../scene.ts';

export type Subject = {
  start: Start;
  now: number;
  destination: DestinationId;
  subscription: SubscriptionId;
  /** The first one, and the only one unless a rotation is under way. */
  oldKey: SigningKeyId;
  eventId: EventId;
  id: DeliveryId;
  /** What an attempt that is on the wire was sent from. Of a finished delivery: before it finished. */
  rev: number;
  /** Of the configuration that both writers match against. */
  configVersion: number;
  /** Of the event: it was used, and its window has ended. */
  key: string;
  shard: number;
  /** The owner of the shard, and one that would be it for each writer. */
  nodes: [owner: NodeId, first: NodeId, second: NodeId];
};

export const STARTS = [
  'pending',
  'retrying',
  'forced, and its destination paused',
  'succeeded',
  'dead',
  'succeeded, and forced',
  'dead, and forced',
] as const;

export type Start = (typeof STARTS)[number];

export function isFinished(start: Start): boolean {
  return start === 'succeeded' || start === 'dead';
}

/**
 * All but the version of the configuration that is there then. What is made is older than `now` by a little: old enough
 * for the retention of this case.
 */
export async function makeSubject(
  scene: Scene,
  { start, hasTwoKeys, hasSubscription }: { start: Start; hasTwoKeys: boolean; hasSubscription: boolean },
): Promise<Omit<Subject, 'configVersion'>> {
  const { store } = scene;
  scene.pass(1_000);
  const { id: destination, signingKeys, ...made } = scene.destination({ headers: { 'x-a': 'b' } });
  await store.createDestination({ ...made, id: destination, signingKeys }, { max: 10 });
  const oldKey = signingKeys[0]!.id;
  const rotation = { key: scene.signingKey(), previousExpiresAt: scene.now + DAY, now: scene.now };
  if (hasTwoKeys) await store.rotateSigningKey({ environment: LIVE, id: destination, ...rotation });
  const subscription = hasSubscription ? await scene.createSubscription(destination) : scene.ids.next('sub');
  const key = `key ${scene.now}`;
  const event: NewEvent = {
    ...describeEvent(scene, key),
    // What it was matched against is nobody's concern.
    configVersion: Number.MAX_SAFE_INTEGER,
    idempotency: { fingerprint: new Uint8Array(32), expiresAt: scene.now + 1 },
    deliveries: [{ ...scene.delivery(destination), subscriptionId: subscription }],
  };
  await store.acceptEvents([event]);
  const id = event.deliveries[0]!.id;
  await bringTo(scene, { start, id, destination });
  const nodes = [scene.ids.next('nod'), scene.ids.next('nod'), scene.ids.next('nod')] as Subject['nodes'];
  const shard = idShard(destination);
  scene.pass(10);
  return {
    start,
    now: scene.now,
    destination,
    subscription,
    oldKey,
    eventId: event.id,
    id,
    rev: REVISIONS[start],
    key,
    shard,
    nodes,
  };
}

export function describeEvent({ ids, now }: Scene, idempotencyKey: string) {
  return {
    id: ids.next('evt'),
    environment: LIVE,
    type: 'order.paid',
    idempotencyKey,
    occurredAt: now,
    traceparent: null,
    createdAt: now,
    dueAt: now,
    body: new TextEncoder().encode('{"amount":1.0}'),
  };
}

const REVISIONS: Record<Start, number> = {
  pending: 0,
  retrying: 1,
  'forced, and its destination paused': 1,
  succeeded: 0,
  dead: 0,
  'succeeded, and forced': 2,
  'dead, and forced': 2,
};

async function bringTo(
  scene: Scene,
  { start, id, destination }: { start: Start; id: DeliveryId; destination: DestinationId },
): Promise<void> {
  const { store, now } = scene;
  const record = (decision: NonNullable<ResultToRecord['decision']>) => scene.record(result(id, 0, decision));
  if (start === 'retrying') await record(retryAt(now + HOUR));
  if (start.startsWith('succeeded')) await record(succeed(now));
  if (start.startsWith('dead')) await record(die('exhausted', now));
  if (start.startsWith('forced')) {
    const change = { status: 'paused' as const };
    await store.updateDestination({ environment: LIVE, id: destination, change, now });
  }
  if (start.includes('forced')) await store.retryDelivery(scene.sendAgain(id));
}

/** For writers that take the shard over: it has an owner, and two that would have it. */
export async function makeNodes(
  { store, now }: Scene,
  { nodes, shard }: Pick<Subject, 'nodes' | 'shard'>,
): Promise<void> {
  const cluster = store.cluster!;
  for (const id of nodes) await cluster.addNode({ id, name: `at ${now}`, version: '1', address: 'a:1', leaseMs: DAY });
  await cluster.takeShards({ node: nodes[0], shards: [shard] });
}
