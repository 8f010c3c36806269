// What a node does in its step beside renewing its lease must not keep it from renewing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLease } from '../../src/cluster/lease.ts';
import { Membership } from '../../src/cluster/membership.ts';
import { OwnedShards } from '../../src/cluster/owned-shards.ts';
import type { ShardWork } from '../../src/cluster/work.ts';
import { systemClock as clock } from '../../src/runtime/clock.ts';
import { createIds } from '../../src/runtime/ids.ts';
import { SeededRandom } from '../sim/seeded-random.ts';
import { LIVE } from '../store/scene.ts';
import { MemoryCluster } from './memory-cluster.ts';

const LEASE_MS = 1_000;
const RENEWALS = 3;

test('a lease is renewed while reading the configuration, to acknowledge a change, takes for ever', async () => {
  const random = new SeededRandom(1);
  const ids = createIds(clock, random);
  const memory = new MemoryCluster(clock, random);
  memory.latencyMaxMs = 1;
  const store = memory.storeFor({ isAlive: () => true, whenAwake: async () => undefined });
  const id = ids.next('nod');
  const fail = (error: unknown): void => assert.fail(String(error));
  const work: ShardWork = {
    load: async (_shards, own) => own(),
    sweep: async () => undefined,
    release: async () => undefined,
    busyShards: () => new Set(),
    wake: () => true,
    resume: () => undefined,
    environments: () => [LIVE],
    catchUp: async () => 0,
  };
  const shards = new OwnedShards({
    id,
    store,
    clock,
    work,
    onGained: async () => undefined,
    onReleased: () => undefined,
    onError: fail,
  });
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const renewed = Promise.withResolvers<void>();
  let acknowledgements = 0;
  let renewals = 0;
  const membership = new Membership(
    {
      store,
      clock,
      lease: createLease(clock, LEASE_MS),
      shards,
      acknowledge() {
        acknowledgements++;
        asked.resolve();
        return answered.promise;
      },
      onRenewed() {
        if (acknowledgements > 0 && ++renewals === RENEWALS) renewed.resolve();
      },
      onRenewalFailed: fail,
      onLost: () => undefined,
      onRemoved: () => undefined,
      onTaken: () => undefined,
      onError: fail,
    },
    LEASE_MS,
  );
  await membership.join({ id, name: 'one', version: '1', address: '', leaseMs: LEASE_MS });
  memory.changeDestination({ destinationId: ids.next('dst'), environment: LIVE });
  await asked.promise;
  await renewed.promise;
  assert.equal(acknowledgements, 1, 'one at a time');
  answered.resolve();
  await membership.stop();
});
