// Lists: each filter selects what it says, pages join without gap or repetition, whatever happens between them.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { DELIVERY_STATUSES, type Delivery, type DeliveryStatus } from '../../../src/model/delivery.ts';
import type { Event } from '../../../src/model/event.ts';
import { idTime, type DeliveryId, type DestinationId, type EventId } from '../../../src/model/id.ts';
import type { TypeSelection } from '../../../src/model/event-type.ts';
import type { DeliveryFilter, Page } from '../../../src/store/store.ts';
import { HOUR, LIVE, NO_FILTER, START, TEST, die, firstOf, result, retryAt, succeed, type Scene } from '../scene.ts';
import type { MakeScene } from './suite.ts';

export function testLists(makeScene: MakeScene, propertyRuns: number): void {
  describe('the list of deliveries', () => testDeliveryList(makeScene, propertyRuns));
  describe('the list of events', () => testEventList(makeScene));
}

async function walk(
  scene: Scene,
  options: {
    filter: Partial<DeliveryFilter>;
    limit: number;
    between?: () => Promise<void>;
  },
): Promise<Delivery[]> {
  const found: Delivery[] = [];
  const filter = { ...NO_FILTER, ...options.filter };
  for (let before: DeliveryId | null = null, isFirst = true; isFirst || before !== null; isFirst = false) {
    const page: Page<Delivery, DeliveryId> = await scene.store.listDeliveries({
      environment: LIVE,
      filter,
      before,
      limit: options.limit,
    });
    assert.ok(page.rows.length <= options.limit);
    found.push(...page.rows);
    before = page.next;
    await options.between?.();
  }
  return found;
}

/** Deliveries of two destinations in every status, over several hours; the newest first. */
async function fill(scene: Scene): Promise<{ all: Delivery[]; destinations: DestinationId[]; events: EventId[] }> {
  const destinations = [await scene.createDestination(), await scene.createDestination()];
  await scene.createDestination({ environment: TEST }).then((id) => scene.accept([id], { environment: TEST }));
  const decisions = [null, retryAt(START + HOUR), succeed(), die()];
  const events: EventId[] = [];
  const ids: DeliveryId[] = [];
  for (let i = 0; i < 8; i++, scene.pass(HOUR)) {
    const event = await scene.accept(destinations);
    events.push(event.id);
    for (const { id } of event.deliveries) {
      const decision = decisions[(ids.length + (ids.length >> 2)) % 4]!;
      if (decision !== null) await scene.record(result(id, 0, decision));
      ids.unshift(id);
    }
  }
  const all = await Promise.all(
    ids.map(async (id) => {
      const { attempts: _, ...delivery } = (await scene.read(id))!;
      return delivery;
    }),
  );
  return { all, destinations, events };
}

function matches(delivery: Delivery, filter: DeliveryFilter): boolean {
  return (
    (filter.eventId === null || delivery.eventId === filter.eventId) &&
    (filter.destinationId === null || delivery.destinationId === filter.destinationId) &&
    (filter.status === null || delivery.status === filter.status) &&
    (filter.since === null || delivery.createdAt >= filter.since) &&
    (filter.until === null || delivery.createdAt < filter.until)
  );
}

function testDeliveryList(makeScene: MakeScene, propertyRuns: number): void {
  it('selects by every combination of filters, in pages of any size', async (t) => {
    const scene = await makeScene(t);
    const { all, destinations, events } = await fill(scene);
    const time = fc.option(
      fc.integer({ min: -1, max: 9 }).map((hours) => START + hours * HOUR),
      { nil: null },
    );
    const filters = fc.record({
      eventId: fc.option(fc.constantFrom(...events, scene.ids.next('evt')), { nil: null }),
      destinationId: fc.option(fc.constantFrom(...destinations, scene.ids.next('dst')), { nil: null }),
      status: fc.option(fc.constantFrom(...DELIVERY_STATUSES), { nil: null }),
      since: time,
      until: time,
    });
    await fc.assert(
      fc.asyncProperty(filters, fc.integer({ min: 1, max: 20 }), async (filter, limit) => {
        const expected = all.filter((delivery) => matches(delivery, filter));
        assert.deepEqual(await walk(scene, { filter, limit }), expected);
      }),
    );
  });

  it('counts by every combination of filters, in pieces of any size', async (t) => {
    const scene = await makeScene(t);
    const { all, destinations } = await fill(scene);
    const time = fc.option(
      fc.integer({ min: -1, max: 9 }).map((hours) => START + hours * HOUR),
      { nil: null },
    );
    const requests = fc.record({
      environment: fc.constantFrom(LIVE, LIVE, TEST),
      destinationId: fc.option(fc.constantFrom(...destinations, scene.ids.next('dst')), { nil: null }),
      status: fc.constantFrom(...DELIVERY_STATUSES.filter((status) => status !== 'pending')),
      since: time,
      until: time,
    });
    await fc.assert(
      fc.asyncProperty(requests, fc.integer({ min: 1, max: 20 }), async (request, limit) => {
        const { environment } = request;
        // The one in the other environment is pending.
        const found = all.filter((one) => environment === LIVE && matches(one, { eventId: null, ...request }));
        let expected = found.map(({ id }) => id);
        for (let before: DeliveryId | null = null, isFirst = true; isFirst || before !== null; isFirst = false) {
          const piece = await scene.store.countDeliveries({ ...request, before, limit });
          const counted: DeliveryId[] = expected.slice(0, limit);
          expected = expected.slice(limit);
          assert.deepEqual(
            [piece.count, piece.newest, piece.oldest],
            [counted.length, counted[0] ?? null, counted.at(-1) ?? null],
          );
          before = piece.next;
        }
        assert.deepEqual(expected, []);
      }),
    );
  });

  it('shows those that are asked for by their ids as it lists them, and leaves out the others', async (t) => {
    const scene = await makeScene(t);
    const { all } = await fill(scene);
    const asked = all.filter((_, i) => i % 3 !== 0);
    const ids = [...asked.map(({ id }) => id), scene.ids.next('dlv')];
    const rows = await scene.store.readDeliveries({ environment: LIVE, ids });
    assert.deepEqual(
      rows.toSorted((a, b) => (a.id < b.id ? 1 : -1)),
      asked,
    );
    assert.deepEqual(await scene.store.readDeliveries({ environment: TEST, ids: asked.map(({ id }) => id) }), []);
  });

  it('keeps since and until exact to the millisecond', async (t) => {
    const scene = await makeScene(t);
    const destination = await scene.createDestination();
    const ids = [];
    for (let i = 0; i < 3; i++, scene.pass(1)) ids.push((await scene.acceptOne(destination)).id);
    const between = await scene.list({ since: START + 1, until: START + 2 });
    assert.deepEqual(
      between.rows.map((row) => row.id),
      [ids[1]],
    );
    assert.equal(idTime(ids[1]!), START + 1);
  });

  it('reads what had arrived and waits forced as arrived once its destination is deleted', async (t) => {
    const scene = await makeScene(t);
    const destination = await scene.createDestination();
    const event = await scene.accept([destination, destination]);
    const [arrived, failed] = event.deliveries.map((one) => one.id);
    await scene.record(result(arrived!, 0, succeed(START)), result(failed!, 0, die('exhausted', START)));
    scene.pass(HOUR);
    for (const id of [arrived!, failed!]) await scene.store.retryDelivery(scene.sendAgain(id));
    assert.equal((await scene.read(arrived!))!.status, 'retrying');
    const deletedAt = scene.pass(HOUR);
    await scene.store.deleteDestination({ environment: LIVE, id: destination, now: deletedAt });
    for (const isEnded of [false, true]) {
      if (isEnded) await scene.store.endDeletedDeliveries({ now: scene.pass(HOUR), budgetMs: 1_000 });
      const { status, deadReason, completedAt, nextAttemptAt, updatedAt } = (await scene.read(arrived!))!;
      assert.deepEqual([status, deadReason, completedAt], ['succeeded', null, START], String(isEnded));
      assert.deepEqual([nextAttemptAt, updatedAt], [null, deletedAt]);
      assert.equal((await scene.read(failed!))!.deadReason, 'destination_deleted');
      for (const filter of [{}, { destinationId: destination }]) {
        const listed = async (of: DeliveryStatus) =>
          (await scene.list({ ...filter, status: of })).rows.map((row) => row.id);
        assert.deepEqual(await Promise.all(DELIVERY_STATUSES.map(listed)), [[], [], [arrived], [failed]]);
      }
      const scheduled = await scene.store.readScheduledDeliveries(firstOf(LIVE, event.id));
      assert.deepEqual(
        scheduled.map((one) => one.status),
        ['succeeded', 'dead'],
      );
      assert.equal(await scene.unfinishedCount(), 0);
    }
  });

  it('reads unfinished deliveries of a deleted destination as dead, also before their rows are ended', async (t) => {
    const scene = await makeScene(t);
    const { all, destinations } = await fill(scene);
    const deletedAt = scene.pass(HOUR);
    await scene.store.deleteDestination({ environment: LIVE, id: destinations[0]!, now: deletedAt });
    const expected = all.map((delivery): Delivery => {
      const isOver = delivery.status === 'succeeded' || delivery.status === 'dead';
      if (delivery.destinationId !== destinations[0] || isOver) return delivery;
      const ended = { deadReason: 'destination_deleted', nextAttemptAt: null, completedAt: deletedAt } as const;
      return { ...delivery, ...ended, status: 'dead', updatedAt: deletedAt };
    });
    for (const isEnded of [false, true]) {
      if (isEnded) await scene.store.endDeletedDeliveries({ now: scene.pass(HOUR), budgetMs: 1_000 });
      for (const status of [null, ...DELIVERY_STATUSES]) {
        for (const destinationId of [null, ...destinations]) {
          const filter = { ...NO_FILTER, status, destinationId };
          const wanted = expected.filter((delivery) => matches(delivery, filter));
          assert.deepEqual(await walk(scene, { filter, limit: 3 }), wanted, JSON.stringify({ isEnded, filter }));
        }
      }
      const scheduled = await scene.store.readScheduledDeliveries(firstOf(LIVE, all.at(-1)!.eventId));
      assert.deepEqual(
        scheduled.map((one) => one.status),
        expected
          .slice(-2)
          .reverse()
          .map((one) => one.status),
      );
    }
  });

  it('finds what is rare behind thousands of rows that do not match, over pages that may be short', async (t) => {
    const scene = await makeScene(t);
    const [rare, common] = [await scene.createDestination(), await scene.createDestination()];
    const event = await scene.accept([rare, ...Array.from({ length: 4_100 }, () => common)]);
    const found = await walk(scene, { filter: { eventId: event.id, destinationId: rare }, limit: 10 });
    assert.deepEqual(
      found.map((delivery) => delivery.id),
      [event.deliveries[0]!.id],
    );
  });

  it('a walk shows nothing twice and misses nothing that matched throughout', async (t) => {
    const filters = fc.constantFrom<Partial<DeliveryFilter>>({}, { status: 'pending' }, { status: 'dead' });
    const moves = fc.array(fc.record({ nth: fc.nat(30), to: fc.constantFrom(...DELIVERY_STATUSES) }), { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(
        filters,
        fc.integer({ min: 1, max: 4 }),
        fc.array(moves, { maxLength: 12 }),
        async (filter, limit, plan) => {
          const scene = await makeScene(t);
          const { all, destinations } = await fill(scene);
          const touched = new Set<DeliveryId>();
          const between = async () => {
            for (const { nth, to } of plan.shift() ?? []) {
              const { id } = all[nth % all.length]!;
              touched.add(id);
              await moveTo(scene, { id, to });
            }
            await scene.accept(destinations);
          };
          const seen = (await walk(scene, { filter, limit, between })).map((delivery) => delivery.id);
          assert.equal(new Set(seen).size, seen.length, 'nothing twice');
          const untouched = all.filter((delivery) => !touched.has(delivery.id));
          const throughout = untouched.filter((delivery) => matches(delivery, { ...NO_FILTER, ...filter }));
          const missed = throughout.filter((delivery) => !seen.includes(delivery.id));
          assert.deepEqual(missed, []);
          await scene.store.close();
        },
      ),
      { numRuns: propertyRuns },
    );
  });
}

type Move = { id: DeliveryId; to: DeliveryStatus };

async function moveTo(scene: Scene, { id, to }: Move): Promise<void> {
  if (to === 'pending') await scene.store.replayDead(scene.sendAgain(id));
  if (to === 'retrying') await scene.store.retryDelivery(scene.sendAgain(id));
  const { status, destinationId } = (await scene.read(id))!;
  const isFinished = status === 'succeeded' || status === 'dead';
  if (isFinished || to === 'pending' || to === 'retrying') return;
  const { rev } = await scene.open(destinationId, id);
  await scene.record(result(id, rev, to === 'succeeded' ? succeed() : die()));
}

function testEventList(makeScene: MakeScene): void {
  const types = ['a.b', 'a.b.c', 'a.b.d', 'a.c', 'a.bb', 'b.a', 'a.b-x.c'];

  const listAll = async (scene: Scene, type: TypeSelection | null, limit: number, range = NO_FILTER) => {
    const found = [];
    for (let before: EventId | null = null, isFirst = true; isFirst || before !== null; isFirst = false) {
      const { since, until } = range;
      const page: Page<Event, EventId> = await scene.store.listEvents({
        environment: LIVE,
        type,
        since,
        until,
        before,
        limit,
      });
      found.push(...page.rows);
      before = page.next;
    }
    return found;
  };

  const fillEvents = async (scene: Scene, names: readonly string[]) => {
    const events = [];
    for (const [i, type] of names.entries()) {
      const event = await scene.accept([], { type, ...(i % 3 === 0 ? { idempotencyKey: `key ${i}` } : {}) });
      const { id, environment, idempotencyKey, occurredAt, createdAt, traceparent } = event;
      events.unshift({ id, environment, type, idempotencyKey, occurredAt, createdAt, traceparent });
      scene.pass(HOUR);
    }
    await scene.accept([], { environment: TEST, type: names[0]! });
    return events;
  };

  it('selects by exact type and by pattern, in pages', async (t) => {
    const scene = await makeScene(t);
    const events = await fillEvents(scene, [...types, ...types]);
    const cases: [TypeSelection | null, string[]][] = [
      [null, types],
      [{ exact: 'a.b' }, ['a.b']],
      [{ exact: 'a' }, []],
      [{ prefix: 'a', depth: 'one' }, ['a.b', 'a.c', 'a.bb']],
      [{ prefix: 'a', depth: 'any' }, ['a.b', 'a.b.c', 'a.b.d', 'a.c', 'a.bb', 'a.b-x.c']],
      [{ prefix: 'a.b', depth: 'one' }, ['a.b.c', 'a.b.d']],
      [{ prefix: 'c', depth: 'any' }, []],
    ];
    for (const [selection, selected] of cases) {
      const expected = events.filter((event) => selected.includes(event.type));
      for (const limit of [1, 3, 100]) {
        assert.deepEqual(await listAll(scene, selection, limit), expected, JSON.stringify(selection));
      }
    }
  });

  it('selects by time', async (t) => {
    const scene = await makeScene(t);
    const events = await fillEvents(scene, types);
    const range = { ...NO_FILTER, since: START + HOUR, until: START + 3 * HOUR };
    assert.deepEqual(await listAll(scene, null, 1, range), events.slice(-3, -1));
    assert.deepEqual(await listAll(scene, { prefix: 'a', depth: 'any' }, 1, range), events.slice(-3, -1));
  });

  it('selects by a pattern that more types match than can be merged', async (t) => {
    const scene = await makeScene(t);
    const names = Array.from({ length: 120 }, (_, i) => (i % 2 === 0 ? `many.t${i}` : `many.t${i}.deep`));
    const events = await fillEvents(scene, names);
    const direct = events.filter((event) => !event.type.endsWith('.deep'));
    assert.deepEqual(await listAll(scene, { prefix: 'many', depth: 'one' }, 7), direct);
    assert.deepEqual(await listAll(scene, { prefix: 'many', depth: 'any' }, 7), events);
  });

  it('finds what is rare behind thousands of events of other types', async (t) => {
    const scene = await makeScene(t);
    const rare = await fillEvents(
      scene,
      Array.from({ length: 40 }, (_, i) => `rare.t${i}`),
    );
    const template = await scene.event([], { type: 'common.one' });
    for (let i = 0; i < 5; i++) {
      const batch = Array.from({ length: 500 }, () => ({ ...template, id: scene.ids.next('evt') }));
      await scene.store.acceptEvents(batch);
    }
    assert.deepEqual(await listAll(scene, { prefix: 'rare', depth: 'any' }, 100), rare);
  });
}
