// Following the configuration: deltas reach memory once, in order, and whoever waits is covered by a load that began
// after the question.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFollower } from '../../src/configuration/follower.ts';
import { LinearMatcher } from './linear.ts';
import type { DestinationWithKeys } from '../../src/model/destination.ts';
import type { DestinationId, SubscriptionId } from '../../src/model/id.ts';
import type { Subscription } from '../../src/model/subscription.ts';
import { settle } from '../sim/virtual-clock.ts';
import { destinationWith } from '../support/destinations.ts';

type Changes = {
  history?: string;
  version: number;
  currentVersion: number;
  destinations: DestinationWithKeys[];
  deletedDestinations: DestinationId[];
  subscriptions: Subscription[];
  deletedSubscriptions: SubscriptionId[];
};

const NOTHING = { destinations: [], deletedDestinations: [], subscriptions: [], deletedSubscriptions: [] };

function destination(id: DestinationId, overrides: Partial<DestinationWithKeys> = {}): DestinationWithKeys {
  return destinationWith({ id, ...overrides });
}

function subscription(id: SubscriptionId, destinationId: DestinationId, filter: string | null = null): Subscription {
  return { id, environment: 1, destinationId, eventType: 'order.paid', filter, createdAt: 0 };
}

/** A follower whose loads end when the test says so, and with what. */
function heldFollower() {
  const loads: { after: number; end: (changes: Changes) => void; fail: (error: Error) => void }[] = [];
  const heard: string[] = [];
  const matchers: LinearMatcher[] = [];
  const follower = createFollower({
    environments: [1, 2],
    store: { readChanges: ({ after }) => new Promise((end, fail) => loads.push({ after, end, fail })) },
    createMatcher() {
      const matcher = new LinearMatcher();
      matchers.push(matcher);
      return matcher;
    },
    onDestinationChanged: ({ id, status }) => heard.push(`${id} ${status}`),
    onDestinationDeleted: (id) => heard.push(`${id} deleted`),
  });
  const matched = (body: unknown = {}): string[] =>
    matchers[0]!.match('order.paid', { parse: () => body }).map(({ id }) => id);
  return { follower, loads, heard, matched };
}

describe('changes', () => {
  test('are loaded page by page, from where the last one ended', async () => {
    const { follower, loads, heard, matched } = heldFollower();
    const done = follower.catchUp(1);
    loads[0]!.end({ ...NOTHING, version: 5, currentVersion: 8, destinations: [destination('dst_a')] });
    await settle();
    assert.equal(loads[1]!.after, 5);
    loads[1]!.end({ ...NOTHING, version: 8, currentVersion: 8, subscriptions: [subscription('sub_1', 'dst_a')] });
    await done;
    assert.deepEqual(heard, ['dst_a active']);
    assert.deepEqual(matched(), ['sub_1']);
    assert.equal(follower.configurationOf(1).version, 8);
    assert.equal(follower.destinationOf('dst_a')!.id, 'dst_a');
    assert.equal(follower.configurationOf(2).version, 0, 'the other environment is not touched');
  });

  test('of one page are complete: what is deleted is gone, what is changed is replaced', async () => {
    const { follower, loads, heard, matched } = heldFollower();
    const first = follower.catchUp(1);
    const destinations = [destination('dst_a'), destination('dst_b')];
    const subscriptions = [
      subscription('sub_1', 'dst_a'),
      subscription('sub_2', 'dst_b'),
      subscription('sub_3', 'dst_b'),
    ];
    loads[0]!.end({ ...NOTHING, version: 1, currentVersion: 1, destinations, subscriptions });
    await first;
    const second = follower.catchUp(1);
    loads[1]!.end({
      version: 2,
      currentVersion: 2,
      destinations: [destination('dst_a', { status: 'paused' })],
      // Its subscriptions are not listed one by one.
      deletedDestinations: ['dst_b'],
      subscriptions: [subscription('sub_4', 'dst_a', '{"$.total":{"$gt":5}}')],
      deletedSubscriptions: ['sub_1'],
    });
    await second;
    assert.deepEqual(heard, ['dst_a active', 'dst_b active', 'dst_a paused', 'dst_b deleted']);
    assert.equal(follower.destinationOf('dst_b'), undefined);
    assert.deepEqual(matched(), []);
    assert.deepEqual(matched({ total: 6 }), ['sub_4']);
  });

  test('bring filters that are older than the limit on conditions with [*]', async () => {
    const { follower, loads, matched } = heldFollower();
    const done = follower.catchUp(1);
    const conditions = Array.from({ length: 6 }, (_, n) => `"$.list[*].k${n}":${n}`).join(',');
    const old = subscription('sub_1', 'dst_a', `{"$or":[{${conditions}},{"$.list[*]":7}]}`);
    loads[0]!.end({ ...NOTHING, version: 1, currentVersion: 1, subscriptions: [old] });
    await done;
    assert.deepEqual(matched({ list: [7] }), ['sub_1']);
  });

  test('of another history than what is in memory take its place, also where loading them is cut off', async () => {
    const { follower, loads, heard, matched } = heldFollower();
    const first = follower.catchUp(1);
    const destinations = [destination('dst_a'), destination('dst_b')];
    const subscriptions = [
      subscription('sub_1', 'dst_a'),
      subscription('sub_2', 'dst_a'),
      subscription('sub_3', 'dst_b'),
    ];
    loads[0]!.end({ ...NOTHING, version: 9, currentVersion: 9, destinations, subscriptions });
    await first;
    heard.length = 0;

    const currentVersion = 20;
    const later = { ...NOTHING, history: 'later', currentVersion };
    const second = follower.catchUp(1);
    loads[1]!.end({ ...later, version: currentVersion });
    await settle();
    assert.equal(loads[2]!.after, 0, 'all of it is read, from the first version on');
    loads[2]!.end({ ...later, version: 4, destinations: [destination('dst_a')] });
    await settle();
    loads[3]!.fail(new Error('away'));
    await assert.rejects(second, /away/);
    assert.ok(follower.configurationOf(1).version < currentVersion, 'what is matched meanwhile is stale');
    const third = follower.catchUp(1);
    assert.equal(loads[4]!.after, 4);
    const read = [subscription('sub_2', 'dst_a'), subscription('sub_4', 'dst_a')];
    loads[4]!.end({ ...later, version: currentVersion, subscriptions: read });
    await third;
    assert.deepEqual(heard, ['dst_a active', 'dst_b deleted']);
    assert.deepEqual(matched(), ['sub_2', 'sub_4']);
    assert.equal(follower.configurationOf(1).version, currentVersion);
  });

  test('of an environment that there is not are a programming error', () => {
    assert.throws(() => heldFollower().follower.configurationOf(3), /unknown environment 3/);
  });
});

describe('catching up', () => {
  const end = (load: { end: (changes: Changes) => void }, version: number): void =>
    load.end({ ...NOTHING, version, currentVersion: version });

  test('asked many times during a load is one more load, which begins after them', async () => {
    const { follower, loads } = heldFollower();
    const first = follower.catchUp(1);
    let covered = 0;
    const later = [1, 2, 3].map(() => follower.catchUp(1).then(() => covered++));
    await settle();
    assert.equal(loads.length, 1);
    end(loads[0]!, 1);
    await first;
    await settle();
    assert.equal(loads.length, 2);
    assert.equal(covered, 0, 'the first load may have read before they asked');
    end(loads[1]!, 2);
    await Promise.all(later);
    assert.equal(covered, 3);
  });

  test('never loads twice at a time, whenever it is asked', async () => {
    const { follower, loads } = heldFollower();
    const all = [follower.catchUp(1), follower.catchUp(1)];
    // Asked at every microtask around the end of the first load, while the second waits to begin.
    end(loads[0]!, 1);
    for (let i = 0; i < 20; i++) {
      all.push(follower.catchUp(1));
      await Promise.resolve();
    }
    await settle();
    let ended = 1;
    for (let version = 2; ended < loads.length; version++) {
      assert.equal(loads.length - ended, 1, 'one load is under way');
      end(loads[ended++]!, version);
      await settle();
    }
    await Promise.all(all);
  });

  test('that fails fails for those it was for; the next one loads again', async () => {
    const { follower, loads } = heldFollower();
    const first = follower.catchUp(1);
    const second = follower.catchUp(1);
    loads[0]!.fail(new Error('away'));
    await assert.rejects(first, /away/);
    await settle();
    end(loads[1]!, 1);
    await second;
    const third = follower.catchUp(1);
    await settle();
    assert.equal(loads[2]!.after, 1);
    end(loads[2]!, 1);
    await third;
  });
});
