// An acceptor on a real store in memory, with a destination or two, for the tests of accepting. It is put together here
// and not by app/service.ts, which would answer what these tests ask: what the acceptor calls back, and with what.
import { Acceptor } from '../../src/accept/accept.ts';
import { parseBody } from '../../src/json/body.ts';
import { createFollower } from '../../src/configuration/follower.ts';
import { LinearMatcher } from '../match/linear.ts';
import type { OpenDelivery } from '../../src/model/delivery.ts';
import type { DestinationId, SubscriptionId } from '../../src/model/id.ts';
import { createIds } from '../../src/runtime/ids.ts';
import { destinationWith } from '../support/destinations.ts';
import { openInThreadStore } from '../support/in-thread-store.ts';
import { SeededRandom } from '../sim/seeded-random.ts';
import { VirtualClock } from '../sim/virtual-clock.ts';

export type Post = { type?: string; body?: string; key?: string | null; occurredAt?: string; environment?: number };

type AcceptorStore = ConstructorParameters<typeof Acceptor>[0]['store'];

export const RETENTION_MS = 30 * 86_400_000;

/** `override` puts something in the way of single methods of the store. */
export function setUp(
  override: (store: AcceptorStore) => Partial<AcceptorStore> = () => ({}),
  { maxFanout = 10_000 }: { maxFanout?: number } = {},
) {
  const clock = new VirtualClock();
  const random = new SeededRandom(1);
  const ids = createIds(clock, random);
  const store = openInThreadStore({
    path: ':memory:',
    masterKey: new Uint8Array(32),
    clock,
    random,
    diskReserveBytes: 0,
    maxBacklogPerDestination: 5,
  });
  const follower = createFollower({
    environments: [1, 2],
    store,
    createMatcher: () => new LinearMatcher(),
    onDestinationChanged: () => undefined,
    onDestinationDeleted: () => undefined,
  });
  const scheduled: OpenDelivery[][] = [];
  const storedBefore: OpenDelivery[] = [];
  const refused: string[] = [];
  /** How many deliveries each replay made. */
  const replayed: number[] = [];
  const acceptor = new Acceptor({
    store: { ...store, ...override(store) },
    configurationOf: follower.configurationOf,
    catchUp: follower.catchUp,
    clock,
    ids,
    bodyRetentionMs: RETENTION_MS,
    maxFanout,
    onScheduled: (deliveries, _of, { mayBeUnderWay }) =>
      mayBeUnderWay === true ? storedBefore.push(...deliveries) : scheduled.push(deliveries),
    observer: {
      scheduled({ origin, deliveries }) {
        if (origin === 'replay') replayed.push(deliveries.length);
      },
    },
    onRefused: (reason) => refused.push(reason),
  });

  const createDestination = async (): Promise<DestinationId> => {
    const id = ids.next('dst');
    await store.createDestination(destinationWith({ id }), { max: 100 });
    await follower.catchUp(1);
    return id;
  };

  /** In the store only, as another node's change is until it is noticed. */
  const subscribeUnnoticed = async (
    destinationId: DestinationId,
    eventType = 'order.paid',
    filter: string | null = null,
  ) => {
    const id = ids.next('sub');
    const subscription = { id, environment: 1, destinationId, eventType, filter, createdAt: clock.now() };
    const limits = { perDestinationMax: 100, perEnvironmentMax: 100 };
    await store.createSubscription({ subscription, identity: Buffer.from(id) }, limits);
    return id;
  };

  const subscribe = async (...parameters: Parameters<typeof subscribeUnnoticed>): Promise<SubscriptionId> => {
    const id = await subscribeUnnoticed(...parameters);
    await follower.catchUp(1);
    return id;
  };

  /** With the deliveries that the answer lists. */
  const post = async (input: Post = {}) => {
    const accepted = await acceptor.accept(toIncoming(input));
    if (!accepted.isRepeat) return accepted;
    const listed = { environment: 1, eventId: accepted.event.id, which: 'first', after: null } as const;
    return { ...accepted, deliveries: await store.readScheduledDeliveries(listed) };
  };

  return {
    clock,
    ids,
    store,
    follower,
    acceptor,
    scheduled,
    storedBefore,
    refused,
    replayed,
    createDestination,
    subscribe,
    subscribeUnnoticed,
    post,
  };
}

export function toIncoming({
  type = 'order.paid',
  body = '{"total":5}',
  key = null,
  occurredAt,
  environment = 1,
}: Post) {
  return {
    environment,
    type,
    body: { bytes: Buffer.from(body), parse: () => parseBody(body) },
    idempotencyKey: key,
    occurredAt: occurredAt === undefined ? null : { text: occurredAt, time: Date.parse(occurredAt) },
    traceparent: null,
  };
}
