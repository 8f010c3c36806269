// Who changes the configuration: destinations, their keys, and subscriptions.
import assert from 'node:assert/strict';
import { DAY, LIVE } from '../scene.ts';
import type { DatabaseState } from './database-state.ts';
import { action, destinationOf, isDestinationDeleted, uuid, type Action } from './view.ts';

export const deleteDestination = action<boolean>(
  ({ store, subject: { destination: id, now } }) => store.deleteDestination({ environment: LIVE, id, now }),
  (answer, { during, commits, subject }) => {
    const deleted = commits.filter(
      ({ before, after }) => !isDestinationDeleted(before, subject) && isDestinationDeleted(after, subject),
    );
    assert.equal(deleted.length, answer ? 1 : 0);
    if (!answer) assert.ok(during.some((state) => isDestinationDeleted(state, subject)));
    else assert.ok(deleted[0]!.after.barriers.some(({ version }) => version === versionOf(deleted[0]!.after)));
  },
);

const versionOf = ({ environment }: DatabaseState): number => environment.config_version;

export const patch = (change: { status: 'active' | 'paused'; url?: string }): Action =>
  action<{ status: string; url: string } | null>(
    ({ store, subject: { destination: id, now } }) => store.updateDestination({ environment: LIVE, id, change, now }),
    (answer, { during, commits, subject }) => {
      if (answer === null) {
        assert.ok(during.some((state) => isDestinationDeleted(state, subject)));
        assert.equal(commits.length, 0);
        return;
      }
      const { after } = commits.at(-1)!;
      const row = destinationOf(after, subject);
      assert.deepEqual([row.status, row.url], [change.status === 'paused' ? 1 : 0, change.url ?? answer.url]);
      assert.equal(row.version, versionOf(after));
      assert.ok(
        after.barriers.some(({ version }) => version === row.version),
        'its owner is to hear of it',
      );
    },
  );

export const rotate = action<string>(
  async ({ store, scene, subject: { destination: id, now } }) => {
    // The rotation that is under way has ended by then.
    const later = now + 2 * DAY;
    const rotation = { key: scene.signingKey(), previousExpiresAt: later + DAY, now: later };
    return (await store.rotateSigningKey({ environment: LIVE, id, ...rotation })).result;
  },
  (answer, { during, commits, subject }) => {
    assert.equal(commits.length, answer === 'rotated' ? 1 : 0);
    if (answer === 'not_found') assert.ok(during.some((state) => isDestinationDeleted(state, subject)));
    if (answer === 'rotated') assert.equal(commits[0]!.after.signingKeys.length, 2, 'the new one and the one before');
    if (answer === 'in_progress') assert.ok(during.some(({ signingKeys }) => signingKeys.length === 2));
  },
);

export const endKey = action<string>(
  ({ store, subject: { destination: id, oldKey: keyId, now } }) =>
    store.endSigningKey({ environment: LIVE, id, keyId, now }),
  (answer, { during, commits, subject }) => {
    const has = ({ signingKeys }: DatabaseState): boolean => signingKeys.some(({ id }) => id === uuid(subject.oldKey));
    assert.equal(commits.length, answer === 'ended' ? 1 : 0);
    if (answer === 'ended') assert.ok(has(commits[0]!.before) && !has(commits[0]!.after));
    else if (answer === 'not_found') assert.ok(during.some((state) => isDestinationDeleted(state, subject)));
    else assert.ok(answer === 'key_not_found' && during.some((state) => !has(state)));
  },
);

const IDENTITY = new Uint8Array(32).fill(9);

/** Of both writers an identical one. */
export const subscribe = action<{ result: string; subscription?: { id: string } }>(
  ({ store, scene, subject: { destination } }) => {
    const subscription = scene.subscription(destination, { eventType: 'order.*' });
    const limits = { perDestinationMax: 2, perEnvironmentMax: 1_000 };
    return store.createSubscription({ subscription, identity: IDENTITY }, limits);
  },
  (answer, { during, commits, subject }) => {
    assert.equal(commits.length, answer.result === 'created' ? 1 : 0);
    if (answer.result === 'destination_not_found')
      assert.ok(during.some((state) => isDestinationDeleted(state, subject)));
    else {
      const has = ({ subscriptions }: DatabaseState) =>
        subscriptions.some(({ id }) => id === uuid(answer.subscription!.id));
      assert.ok(during.some(has), 'the subscription that it names is there');
    }
  },
);

export const unsubscribe = action<boolean>(
  ({ store, subject: { subscription: id } }) => store.deleteSubscription({ environment: LIVE, id }),
  (answer, { during, commits, subject }) => {
    const isLive = ({ subscriptions }: DatabaseState): boolean =>
      subscriptions.some((row) => row.id === uuid(subject.subscription) && row.deleted_at === null);
    assert.equal(commits.length, answer ? 1 : 0);
    if (answer) assert.ok(isLive(commits[0]!.before) && !isLive(commits[0]!.after));
    else assert.ok(during.some((state) => !isLive(state)));
  },
);
