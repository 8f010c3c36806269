// What one sees and does in bulk is of the cluster, whichever of two nodes is asked: counts add up, what both nodes see
// is told once, and an operation that one of them works on is held by the other. The tests share the nodes, in order.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Destination, ErrorBody } from '../e2e/api.ts';
import { hold, ok, type Received, type Receiver } from '../e2e/receiver.ts';
import type { Scope, Service } from '../e2e/service.ts';
import type { PostgresServer } from '../store/postgres/server.ts';
import { sharedPostgres } from '../store/postgres/shared.ts';
import { eventually, startStage, type Stage } from './stage.ts';

type Operation = { id: string; status: string; total: number; done: number; failed: number; skipped: number };
type Point = {
  events_accepted: number;
  deliveries_scheduled: number;
  deliveries_succeeded: number;
  attempts: { succeeded: number };
};
type Now = { events_per_second: number; attempts_per_second: number; success_rate: number | null; in_flight: number };
type Notice = { type: string; data: { destination_id: string } };

const MINUTE_MS = 60_000;
const EVENTS = 6;
const BACKLOG = 100;
const SINCE = '2020-01-01';
const FAILS_ONCE = { retry_policy: { schedule_seconds: [] }, max_in_flight: 100 };

describe('whichever node is asked', () => {
  const cleanups: (() => Promise<void>)[] = [];
  const scope: Scope = { after: (cleanup) => cleanups.push(cleanup) };
  let server: PostgresServer;
  let stage: Stage;
  let nodes: readonly [Service, Service];
  before(async () => {
    server = await sharedPostgres();
    stage = await startStage(scope, server, 2, { MAX_BACKLOG: String(BACKLOG) });
    nodes = stage.nodes as [Service, Service];
  });
  after(async () => {
    for (const cleanup of cleanups.toReversed()) await cleanup();
    await server.stop();
  });

  /** One that each node sends to. */
  async function destinationsOfBoth(receiver: Receiver, type: string, options: object): Promise<Destination[]> {
    const destinations: Destination[] = [];
    for (const node of nodes) destinations.push(await stage.destinationOf(node, receiver, type, options));
    return destinations;
  }

  const statsNow = (node: Service): Promise<Now> => stage.api(node).expect<Now>(200, 'GET', '/v1/stats/now');

  async function countsOf(node: Service, query = ''): Promise<number[]> {
    const { data } = await stage.api(node).expect<{ data: Point[] }>(200, 'GET', `/v1/stats?step=1h${query}`);
    const sumOf = (read: (point: Point) => number): number => data.reduce((sum, point) => sum + read(point), 0);
    return [
      sumOf((point) => point.events_accepted),
      sumOf((point) => point.deliveries_scheduled),
      sumOf((point) => point.attempts.succeeded),
      sumOf((point) => point.deliveries_succeeded),
    ];
  }

  /** As many as a destination may have unfinished. */
  async function publishMany(node: Service, type: string): Promise<void> {
    const events = Array.from({ length: BACKLOG }, (_, n) => ({ type, body: { n } }));
    await stage.api(node).expect(200, 'POST', '/v1/events/batch', { events });
  }

  test('counts of both nodes add up', async () => {
    const receiver = await stage.receiver();
    const destinations = await destinationsOfBoth(receiver, 'seen.counted', {});
    for (let n = 0; n < EVENTS; n++) await stage.api(nodes[n % 2]!).publish('seen.counted', { n });
    const all = 2 * EVENTS;
    for (const node of nodes) {
      const isAll = (counts: number[]): boolean => counts.join() === [EVENTS, all, all, all].join();
      await eventually(() => countsOf(node), isAll);
      await eventually(() => countsOf(node, '&event_type=seen.counted'), isAll);
      for (const { id } of destinations) {
        const counts = await countsOf(node, `&destination_id=${id}`);
        assert.deepEqual(counts, [0, EVENTS, EVENTS, EVENTS], 'accepted by two, sent by one');
      }
      await eventually(
        () => statsNow(node),
        ({ events_per_second: events, attempts_per_second: attempts, success_rate: rate }) =>
          Math.round(events * 60) === EVENTS && Math.round(attempts * 60) === all && rate === 1,
      );
    }
  });

  test('what is in flight on each of them', async () => {
    const held = await stage.receiver(hold);
    await destinationsOfBoth(held, 'seen.held', { retry_policy: { timeout_seconds: 60 } });
    await stage.api(nodes[0]).publish('seen.held');
    await held.arrived(2);
    for (const node of nodes) {
      await eventually(
        () => statsNow(node),
        ({ in_flight: inFlight }) => inFlight === 2,
      );
    }
    for (const request of held.requests) request.answer(200);
  });

  test('how much waits for a destination, whoever accepted it and whoever sends it', async () => {
    const receiver = await stage.receiver();
    const destinations = await destinationsOfBoth(receiver, 'seen.waiting', {});
    const unfinishedOf = ({ id }: Destination): Promise<number[]> =>
      Promise.all(
        nodes.map(async (node) => {
          const path = `/v1/destinations/${id}/health`;
          return (await stage.api(node).expect<{ unfinished: number }>(200, 'GET', path)).unfinished;
        }),
      );
    for (const { id } of destinations) await stage.api(nodes[0]).change(id, { status: 'paused' });
    for (const node of nodes) await stage.api(node).publish('seen.waiting');
    for (const destination of destinations) assert.deepEqual(await unfinishedOf(destination), [2, 2]);
    for (const { id } of destinations) await stage.api(nodes[0]).change(id, { status: 'active' });
    await Promise.all(
      destinations.map((one) =>
        eventually(
          () => unfinishedOf(one),
          (counts) => counts.join() === '0,0',
        ),
      ),
    );
  });

  test('what both see is told once', async () => {
    const operator = await stage.receiver();
    const broken = await stage.receiver((request) => request.answer(404));
    const api = stage.api(nodes[1]);
    await api.subscribed(operator.url, 'postrider.**');
    const typesAbout = ({ id }: Destination): string[] => {
      const notices = operator.requests.map(({ body }) => JSON.parse(body.toString()) as Notice);
      return notices.filter(({ data }) => data.destination_id === id).map(({ type }) => type);
    };

    const startedAt = Date.now();
    const paused: Destination[] = [];
    for (const node of nodes) {
      const destination = await api.subscribed(broken.url, 'seen.overflowing');
      await stage.api(node).change(destination.id, { status: 'paused' });
      paused.push(destination);
    }
    for (const node of nodes) {
      // A node knows for a while only of what it has accepted itself.
      await publishMany(node, 'seen.overflowing');
      const { deliveries } = await stage.api(node).publish('seen.overflowing');
      assert.deepEqual(new Set(deliveries.map(({ status }) => status)), new Set(['dead']));
    }
    // Then each node tells of something else, twice: the first time it may still be busy with what came before.
    for (let round = 0; round < 2; round++) {
      const later = await destinationsOfBoth(broken, `failing.round${round}`, FAILS_ONCE);
      await api.publish(`failing.round${round}`);
      await operator.until(() => later.every((destination) => typesAbout(destination).length > 0), 'what came later');
    }
    const minutes = 1 + Math.floor(Date.now() / MINUTE_MS) - Math.floor(startedAt / MINUTE_MS);
    for (const destination of paused) {
      const types = typesAbout(destination);
      assert.equal(types.filter((type) => type === 'postrider.destination.paused').length, 1);
      const dead = types.filter((type) => type === 'postrider.delivery.dead').length;
      assert.ok(dead >= 1 && dead <= minutes, `${dead} times in ${minutes} minutes`);
    }
  });

  /** A destination with dead deliveries, and what it is sent from then on. */
  async function makeDead(type: string): Promise<{ path: string; sent: Received[] }> {
    const receiver = await stage.receiver((request) => request.answer(404));
    const api = stage.api(nodes[0]);
    const { id } = await api.subscribed(receiver.url, type, FAILS_ONCE);
    await publishMany(nodes[0], type);
    const path = `/v1/destinations/${id}/recover`;
    await eventually(
      () => api.expect<{ count: number }>(200, 'POST', path, { since: SINCE, dry_run: true }),
      ({ count }) => count === BACKLOG,
    );
    await Promise.all(stage.nodes.map((node) => stage.whenNothingIsSent(node)));
    const sent: Received[] = [];
    receiver.respond = (request) => {
      sent.push(request);
      ok(request);
    };
    return { path, sent };
  }

  const read = (node: Service, id: string): Promise<Operation> =>
    stage.api(node).expect<Operation>(200, 'GET', `/v1/operations/${id}`);

  /** Resolves when whoever works on operations has been through all of them since. */
  async function whenWorkedOn(node: Service): Promise<void> {
    const nothing = { event_type: 'of.none' };
    const { id } = await stage.api(node).expect<Operation>(202, 'POST', '/v1/dlq/replay', nothing);
    await eventually(
      () => read(node, id),
      ({ status }) => status === 'done',
    );
  }

  test('of two requests at once for the same one is taken; it is held, let go and ended on either node', async () => {
    const { path, sent } = await makeDead('seen.recovered');
    const request = { since: SINCE, per_second: 20 };
    const ask = (node: Service) => stage.api(node).send<Operation & ErrorBody>('POST', path, request);
    const [taken, refused] = (await Promise.all(nodes.map(ask))).toSorted((a, b) => a.status - b.status);
    assert.deepEqual([taken!.status, refused!.status], [202, 409]);
    const { id, total } = taken!.body;
    const error = refused!.body.error as ErrorBody['error'] & { operation_id: string };
    assert.deepEqual([error.code, error.operation_id, total], ['operation_in_progress', id, BACKLOG]);

    let last = 0;
    for (const action of ['pause', 'cancel']) {
      for (const [node, other] of [nodes, nodes.toReversed() as [Service, Service]]) {
        // Whoever cancels finds it ended the second time.
        if ((await read(node, id)).status === 'cancelled') break;
        await eventually(
          () => read(node, id),
          ({ done }) => done > last,
        );
        const held = await stage.api(node).expect<Operation>(200, 'POST', `/v1/operations/${id}/${action}`);
        await whenWorkedOn(other);
        assert.deepEqual(await read(other, id), held, 'a step that was under way has done nothing');
        last = held.done;
        if (action === 'pause') await stage.api(other).expect(200, 'POST', `/v1/operations/${id}/resume`);
      }
    }
    assert.ok(last < BACKLOG);
    const rest = await stage.api(nodes[1]).expect<Operation>(202, 'POST', path, { since: SINCE, per_second: 10_000 });
    assert.equal(rest.total, BACKLOG - last, 'what it had not come to is dead still');
    const { done } = await eventually(
      () => read(nodes[0], rest.id),
      ({ status }) => status === 'done',
    );
    assert.equal(done, rest.total);
    await eventually(
      async () => sent.length,
      (length) => length >= BACKLOG,
    );
    await Promise.all(stage.nodes.map((node) => stage.whenNothingIsSent(node)));
    assert.equal(new Set(sent.map(({ deliveryId }) => deliveryId)).size, BACKLOG);
    assert.equal(sent.length, BACKLOG, 'each once');
  });
});
