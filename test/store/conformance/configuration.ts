// Destinations and subscriptions: what is stored is read back, limits hold, every change raises the version.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Destination } from '../../../src/model/destination.ts';
import type { DestinationId } from '../../../src/model/id.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import type { Page } from '../../../src/store/store.ts';
import { DAY, HOUR, LIVE, MANY, START, TEST, attempt } from '../scene.ts';
import type { MakeScene } from './suite.ts';

const PAGE = { environment: LIVE, before: null, limit: 10 };

export function testConfiguration(makeScene: MakeScene): void {
  describe('destinations', () => testDestinations(makeScene));
  describe('signing keys', () => testSigningKeys(makeScene));
  describe('subscriptions', () => testSubscriptions(makeScene));
}

function testDestinations(makeScene: MakeScene): void {
  it('begin with an account, a live and a test environment, and nothing configured', async (t) => {
    const { store } = await makeScene(t);
    assert.deepEqual(await store.readEnvironments(), [
      { environment: LIVE, account: 'default', mode: 'live', configVersion: 0, authVersion: 0 },
      { environment: TEST, account: 'default', mode: 'test', configVersion: 0, authVersion: 0 },
    ]);
  });

  it('are read back as they were created, secrets included, in their environment only', async (t) => {
    const scene = await makeScene(t);
    const destination = scene.destination({
      name: 'Büro \u0000 ✓',
      retryPolicy: { schedule_seconds: [5, 60], jitter: 0 },
      maxInFlight: 7,
      ratePerSecond: 0.5,
      headers: { 'X-Token': 's3cret', ['__proto__']: 'a token too' },
      signatureStyle: 'svix',
      metadata: '{"a":[1,2]}',
    });
    assert.equal(await scene.store.createDestination(destination, { max: 1 }), 'created');
    const { id } = destination;
    assert.deepEqual(await scene.store.readDestination({ environment: LIVE, id }), destination);
    assert.equal(await scene.store.readDestination({ environment: TEST, id }), null);
    assert.equal(await scene.store.readDestination({ environment: LIVE, id: scene.ids.next('dst') }), null);
  });

  it('are limited per environment; a deleted one makes room', async (t) => {
    const scene = await makeScene(t);
    const { store } = scene;
    const first = await scene.createDestination();
    assert.equal(await store.createDestination(scene.destination(), { max: 1 }), 'over_limit');
    assert.equal(await store.createDestination(scene.destination({ environment: TEST }), { max: 1 }), 'created');
    assert.equal(await store.deleteDestination({ environment: LIVE, id: first, now: START }), true);
    assert.equal(await store.createDestination(scene.destination(), { max: 1 }), 'created');
  });

  it('change only in what a change names', async (t) => {
    const scene = await makeScene(t);
    const before = scene.destination({ headers: { 'X-One': '1', 'X-Two': '2' }, name: 'before' });
    await scene.store.createDestination(before, { max: 10 });
    const request = { environment: LIVE, id: before.id, now: scene.pass(HOUR) };
    const { signingKeys: _, ...shown } = before;
    const named = await scene.store.updateDestination({
      ...request,
      change: { name: null, maxInFlight: 3, signatureStyle: 'svix' },
    });
    assert.deepEqual(named, { ...shown, name: null, maxInFlight: 3, signatureStyle: 'svix', updatedAt: START + HOUR });
    const change = { headers: { 'x-one': null, 'X-New': 'n', 'X-Unknown': null } };
    const merged = await scene.store.updateDestination({ ...request, change });
    assert.deepEqual(merged!.headers, { 'x-one': '1', 'X-New': 'n' });
    const stored = await scene.store.readDestination(request);
    assert.deepEqual(stored, { ...merged, signingKeys: before.signingKeys });
    assert.equal(await scene.store.updateDestination({ ...request, environment: TEST, change: {} }), null);
  });

  it('are paused by hand; activating forgets the reason and the failures, not a Retry-After', async (t) => {
    const scene = await makeScene(t);
    const id = await scene.createDestination();
    const trouble = { destinationId: id, failingSince: START, failureCount: 4, heldUntil: START + HOUR };
    await scene.store.recordResults({ results: [], health: [trouble], now: START });
    const request = { environment: LIVE, id, now: START };
    const paused = await scene.store.updateDestination({ ...request, change: { status: 'paused' } });
    assert.deepEqual([paused!.status, paused!.pausedReason], ['paused', 'manual']);
    assert.deepEqual(await scene.store.readHealth(), [trouble]);
    const active = await scene.store.updateDestination({ ...request, change: { status: 'active' } });
    assert.deepEqual([active!.status, active!.pausedReason], ['active', null]);
    assert.deepEqual(await scene.store.readHealth(), [{ ...trouble, failingSince: null, failureCount: 0 }]);
  });

  it('with another url have another receiver, of which nothing is known', async (t) => {
    const scene = await makeScene(t);
    const id = await scene.createDestination();
    const trouble = { destinationId: id, failingSince: START, failureCount: 4, heldUntil: START + HOUR };
    await scene.store.recordResults({ results: [], health: [trouble], now: START });
    const request = { environment: LIVE, id, now: START };
    const { url } = (await scene.store.updateDestination({ ...request, change: { name: 'the same' } }))!;
    await scene.store.updateDestination({ ...request, change: { url } });
    assert.deepEqual(await scene.store.readHealth(), [trouble]);
    await scene.store.updateDestination({ ...request, change: { url: `${url}/new` } });
    assert.deepEqual(await scene.store.readHealth(), []);
  });

  it('are gone for every reader once deleted, with their subscriptions and health', async (t) => {
    const scene = await makeScene(t);
    const { store } = scene;
    const id = await scene.createDestination();
    const subscriptionId = await scene.createSubscription(id);
    const trouble = { destinationId: id, failingSince: START, failureCount: 1, heldUntil: null };
    await store.recordResults({ results: [], health: [trouble], now: START });
    assert.equal(await store.deleteDestination({ environment: TEST, id, now: START }), false);
    assert.equal(await store.deleteDestination({ environment: LIVE, id, now: START }), true);
    assert.equal(await store.deleteDestination({ environment: LIVE, id, now: START }), false);
    assert.equal(await store.readDestination({ environment: LIVE, id }), null);
    assert.equal(await store.updateDestination({ environment: LIVE, id, change: {}, now: START }), null);
    assert.deepEqual((await store.listDestinations({ ...PAGE, status: null })).rows, []);
    assert.deepEqual((await store.listSubscriptions({ ...PAGE, destinationId: null })).rows, []);
    assert.equal(await store.readSubscription({ environment: LIVE, id: subscriptionId }), null);
    assert.deepEqual(await store.readHealth(), []);
  });

  it('take no health any more once deleted', async (t) => {
    const scene = await makeScene(t);
    const id = await scene.createDestination();
    await scene.store.deleteDestination({ environment: LIVE, id, now: START });
    const late = { destinationId: id, failingSince: START, failureCount: 1, heldUntil: null };
    await scene.store.recordResults({ results: [], health: [late], now: START });
    assert.deepEqual(await scene.store.readHealth(), []);
  });

  it('are listed newest first, by status, in pages', async (t) => {
    const scene = await makeScene(t);
    const ids: DestinationId[] = [];
    for (let i = 0; i < 5; i++) ids.unshift(await scene.createDestination());
    await scene.createDestination({ environment: TEST });
    await scene.store.updateDestination({ environment: LIVE, id: ids[1]!, change: { status: 'paused' }, now: START });
    const list = async (status: 'active' | 'paused' | null) => {
      const found: DestinationId[] = [];
      for (let before: DestinationId | null = null, isFirst = true; isFirst || before !== null; isFirst = false) {
        const request = { environment: LIVE, status, before, limit: 2 };
        const page: Page<Destination, DestinationId> = await scene.store.listDestinations(request);
        found.push(...page.rows.map((row) => row.id));
        before = page.next;
      }
      return found;
    };
    assert.deepEqual(await list(null), ids);
    assert.deepEqual(await list('paused'), [ids[1]]);
    assert.deepEqual(await list('active'), [ids[0], ids[2], ids[3], ids[4]]);
  });

  it('raise the version of their environment with every change, and nothing else does', async (t) => {
    const scene = await makeScene(t);
    const { store } = scene;
    const versions: number[] = [];
    const note = async () => versions.push(await scene.configVersion());
    const id = await scene.createDestination();
    await note();
    await store.updateDestination({ environment: LIVE, id, change: { name: 'n' }, now: START });
    await note();
    const key = scene.signingKey();
    await store.rotateSigningKey({ environment: LIVE, id, key, previousExpiresAt: START + DAY, now: START });
    await note();
    const [, old] = (await store.readDestination({ environment: LIVE, id }))!.signingKeys;
    await store.endSigningKey({ environment: LIVE, id, keyId: old!.id, now: START });
    await note();
    const subscription = scene.subscription(id);
    const identity = systemRandom.bytes(32);
    await store.createSubscription({ subscription, identity }, MANY);
    await note();
    await store.createSubscription({ subscription: scene.subscription(id), identity }, MANY);
    await note();
    await store.deleteSubscription({ environment: LIVE, id: subscription.id });
    await note();
    const { id: deliveryId } = await scene.acceptOne(id);
    await scene.record({ id: deliveryId, rev: 0, attempt: attempt(), decision: null });
    await scene.createDestination({ environment: TEST });
    await store.createApiKey(scene.apiKey());
    await note();
    await store.deleteDestination({ environment: LIVE, id, now: START });
    await note();
    assert.deepEqual(versions, [1, 2, 3, 4, 5, 5, 6, 6, 7]);
  });
}

function testSigningKeys(makeScene: MakeScene): void {
  it('rotate: both hold until the old one expires, and only then can they rotate again', async (t) => {
    const scene = await makeScene(t);
    const { store } = scene;
    const id = await scene.createDestination();
    const readKeys = async () => (await store.readDestination({ environment: LIVE, id }))!.signingKeys;
    const [first] = await readKeys();
    const rotate = (now: number) => {
      const key = { ...scene.signingKey(), createdAt: now };
      return store.rotateSigningKey({ environment: LIVE, id, key, previousExpiresAt: now + DAY, now });
    };
    assert.deepEqual(await rotate(START), { result: 'rotated' });
    const [second, old] = await readKeys();
    assert.deepEqual(old, { ...first, expiresAt: START + DAY });
    assert.equal(second!.expiresAt, null);
    assert.deepEqual(await rotate(START + HOUR), { result: 'in_progress', until: START + DAY });
    assert.deepEqual(await rotate(START + DAY), { result: 'rotated' });
    assert.deepEqual((await readKeys()).map((key) => key.id).slice(1), [second!.id]);
    const key = scene.signingKey();
    const foreign = { environment: TEST, id, key, previousExpiresAt: START, now: START };
    assert.deepEqual(await store.rotateSigningKey(foreign), { result: 'not_found' });
  });

  it('know the newest by its having no end, whose id is from before another’s if the clock was set back', async (t) => {
    const scene = await makeScene(t);
    const { store } = scene;
    scene.pass(DAY);
    const id = await scene.createDestination();
    const rotate = async (now: number) => {
      scene.now = now;
      const key = scene.signingKey();
      const about = { environment: LIVE, id, key, previousExpiresAt: now + HOUR, now };
      return { key, ...(await store.rotateSigningKey(about)) };
    };
    const { key: second } = await rotate(START);
    const { signingKeys } = (await store.readDestination({ environment: LIVE, id }))!;
    assert.equal(signingKeys[0]!.id, second.id);
    assert.equal(await store.endSigningKey({ environment: LIVE, id, keyId: second.id, now: START }), 'newest');
    assert.equal((await rotate(START + 1)).result, 'in_progress');
    const { key: third, result } = await rotate(START + HOUR);
    assert.equal(result, 'rotated');
    const left = (await store.readDestination({ environment: LIVE, id }))!.signingKeys.map((key) => key.id);
    assert.deepEqual(left, [third.id, second.id], 'what was in force until now signs on');
  });

  it('rotate without an overlap one after the other, whatever the clock of who asks', async (t) => {
    const scene = await makeScene(t);
    const { store } = scene;
    const id = await scene.createDestination();
    const rotate = async (now: number) => {
      const key = { ...scene.signingKey(), createdAt: now };
      const about = { environment: LIVE, id, key, previousExpiresAt: now, now };
      assert.deepEqual(await store.rotateSigningKey(about), { result: 'rotated' });
      return key;
    };
    await rotate(START + 1);
    const second = await rotate(START);
    assert.deepEqual((await store.readDestination({ environment: LIVE, id }))!.signingKeys, [second]);
  });

  it('end an overlap at once, but never the newest', async (t) => {
    const scene = await makeScene(t);
    const { store } = scene;
    const id = await scene.createDestination();
    const end = (keyId: `sgk_${string}`, now = START) => store.endSigningKey({ environment: LIVE, id, keyId, now });
    const rotate = () =>
      store.rotateSigningKey({
        environment: LIVE,
        id,
        key: scene.signingKey(),
        previousExpiresAt: scene.now + DAY,
        now: scene.now,
      });
    await rotate();
    const [newest, old] = (await store.readDestination({ environment: LIVE, id }))!.signingKeys;
    assert.equal(await end(newest!.id), 'newest');
    assert.equal(await end(scene.ids.next('sgk')), 'key_not_found');
    assert.equal(await end(old!.id, START + DAY), 'key_not_found', 'it has expired');
    assert.equal(await end(old!.id), 'ended');
    assert.equal(await end(old!.id), 'key_not_found');
    assert.deepEqual(await rotate(), { result: 'rotated' }, 'the overlap is over');
    const foreign = { environment: TEST, id, keyId: newest!.id, now: START };
    assert.equal(await store.endSigningKey(foreign), 'not_found');
  });
}

function testSubscriptions(makeScene: MakeScene): void {
  it('are read back; an identical one of the same destination is found instead', async (t) => {
    const scene = await makeScene(t);
    const { store } = scene;
    const [one, other] = [await scene.createDestination(), await scene.createDestination()];
    const identity = systemRandom.bytes(32);
    const subscription = scene.subscription(one, { eventType: 'order.**', filter: '{"$.a": 1}' });
    const create = (candidate: typeof subscription) =>
      store.createSubscription({ subscription: candidate, identity }, MANY);
    assert.deepEqual(await create(subscription), { result: 'created', subscription });
    assert.deepEqual(await create(scene.subscription(one)), { result: 'exists', subscription });
    assert.equal((await create(scene.subscription(other))).result, 'created');
    const { id } = subscription;
    assert.deepEqual(await store.readSubscription({ environment: LIVE, id }), subscription);
    assert.equal(await store.readSubscription({ environment: TEST, id }), null);
    assert.equal(await store.deleteSubscription({ environment: TEST, id }), false);
    assert.equal(await store.deleteSubscription({ environment: LIVE, id }), true);
    assert.equal(await store.deleteSubscription({ environment: LIVE, id }), false);
    assert.equal((await create(scene.subscription(one))).result, 'created', 'the identity is free again');
  });

  it('need a destination of their environment', async (t) => {
    const scene = await makeScene(t);
    const id = await scene.createDestination();
    for (const subscription of [
      scene.subscription(id, { environment: TEST }),
      scene.subscription(scene.ids.next('dst')),
    ]) {
      const created = await scene.store.createSubscription({ subscription, identity: systemRandom.bytes(32) }, MANY);
      assert.deepEqual(created, { result: 'destination_not_found' });
    }
  });

  it('are limited per destination and per environment', async (t) => {
    const scene = await makeScene(t);
    const [one, other] = [await scene.createDestination(), await scene.createDestination()];
    const limits = { perDestinationMax: 2, perEnvironmentMax: 3 };
    const create = async (destinationId: typeof one) => {
      const subscription = scene.subscription(destinationId);
      return scene.store.createSubscription({ subscription, identity: systemRandom.bytes(32) }, limits);
    };
    const results = [];
    for (const id of [one, one, one, other, other]) results.push((await create(id)).result);
    assert.deepEqual(results, ['created', 'created', 'over_destination_limit', 'created', 'over_environment_limit']);
    const [newest] = (await scene.store.listSubscriptions({ ...PAGE, destinationId: other })).rows;
    await scene.store.deleteSubscription({ environment: LIVE, id: newest!.id });
    assert.equal((await create(other)).result, 'created', 'the deleted one made room');
    assert.equal((await create(other)).result, 'over_environment_limit');
    await scene.store.deleteDestination({ environment: LIVE, id: one, now: START });
    assert.equal((await create(other)).result, 'created', 'the deleted destination took its own along');
  });

  it('are listed newest first, by destination, in pages', async (t) => {
    const scene = await makeScene(t);
    const { store } = scene;
    const [one, other] = [await scene.createDestination(), await scene.createDestination()];
    const ids: `sub_${string}`[] = [];
    for (let i = 0; i < 6; i++) ids.unshift(await scene.createSubscription(i % 2 === 0 ? one : other));
    await store.deleteSubscription({ environment: LIVE, id: ids[0]! });
    const all = await store.listSubscriptions({ environment: LIVE, destinationId: null, before: null, limit: 3 });
    assert.deepEqual(
      all.rows.map((row) => row.id),
      ids.slice(1, 4),
    );
    const rest = await store.listSubscriptions({ environment: LIVE, destinationId: null, before: all.next, limit: 3 });
    assert.deepEqual(
      rest.rows.map((row) => row.id),
      ids.slice(4),
    );
    assert.equal(rest.next, null);
    const ofOther = await store.listSubscriptions({ environment: LIVE, destinationId: other, before: null, limit: 9 });
    assert.deepEqual(
      ofOther.rows.map((row) => row.id),
      [ids[2], ids[4]],
    );
    const foreign = await store.listSubscriptions({ environment: TEST, destinationId: other, before: null, limit: 9 });
    assert.deepEqual(foreign, { rows: [], next: null });
  });
}
