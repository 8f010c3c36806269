// API keys.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HOUR, LIVE, START, TEST } from '../scene.ts';
import type { MakeScene } from './suite.ts';

export function testKeys(makeScene: MakeScene): void {
  describe('API keys', () => {
    it('are read back as they were created, of every environment', async (t) => {
      const scene = await makeScene(t);
      const live = scene.apiKey({ name: 'CI', scopes: ['admin'], expiresAt: START + HOUR });
      const test = scene.apiKey({ environment: TEST, mode: 'test' });
      await scene.store.createApiKey(live);
      await scene.store.createApiKey(test);
      assert.deepEqual(await scene.store.readApiKeys(), [test, live]);
    });

    it('raise the auth version when one comes or goes, not when one is used', async (t) => {
      const scene = await makeScene(t);
      const { store } = scene;
      const authVersions = async () => (await store.readEnvironments()).map((one) => one.authVersion);
      const key = scene.apiKey();
      await store.createApiKey(key);
      assert.deepEqual(await authVersions(), [1, 0]);
      await store.touchApiKeys([{ id: key.id, lastUsedAt: START }]);
      assert.deepEqual(await authVersions(), [1, 0]);
      await store.revokeApiKey({ environments: [LIVE, TEST], id: key.id });
      assert.deepEqual(await authVersions(), [2, 0]);
    });

    it('that are the first are made once, whoever asks at the same time, and never again', async (t) => {
      const scene = await makeScene(t);
      const { store } = scene;
      const pairs = Array.from({ length: 4 }, () => [
        scene.apiKey(),
        scene.apiKey({ environment: TEST, mode: 'test' as const }),
      ]);
      const made = await Promise.all(pairs.map((keys) => store.createFirstApiKeys(keys)));
      assert.equal(made.filter(Boolean).length, 1);
      const winners = pairs[made.indexOf(true)]!;
      assert.deepEqual(await store.readApiKeys(), winners.toReversed());
      for (const { id } of winners) await store.revokeApiKey({ environments: [LIVE, TEST], id });
      assert.equal(await store.createFirstApiKeys([scene.apiKey()]), false);
      assert.deepEqual(await store.readApiKeys(), []);
    });

    it('are revoked only from the environments that may be reached', async (t) => {
      const scene = await makeScene(t);
      const { store } = scene;
      const key = scene.apiKey();
      await store.createApiKey(key);
      assert.equal(await store.revokeApiKey({ environments: [TEST], id: key.id }), false);
      assert.equal(await store.revokeApiKey({ environments: [LIVE], id: key.id }), true);
      assert.equal(await store.revokeApiKey({ environments: [LIVE], id: key.id }), false);
      assert.deepEqual(await store.readApiKeys(), []);
    });

    it('are listed newest first, in pages, of the environments asked for', async (t) => {
      const scene = await makeScene(t);
      const { store } = scene;
      const keys = [];
      for (let i = 0; i < 4; i++) keys.unshift(scene.apiKey(i === 1 ? { environment: TEST, mode: 'test' } : {}));
      for (const key of keys) await store.createApiKey(key);
      const first = await store.listApiKeys({ environments: [LIVE], before: null, limit: 2 });
      assert.deepEqual(first, { rows: [keys[0], keys[1]], next: keys[1]!.id });
      const second = await store.listApiKeys({ environments: [LIVE], before: first.next, limit: 2 });
      assert.deepEqual(second, { rows: [keys[3]], next: null });
      const both = await store.listApiKeys({ environments: [LIVE, TEST], before: null, limit: 4 });
      assert.deepEqual(both, { rows: keys, next: null });
    });

    it('remember their last use, the latest of several reports', async (t) => {
      const scene = await makeScene(t);
      const { store } = scene;
      const key = scene.apiKey();
      await store.createApiKey(key);
      await store.touchApiKeys([
        { id: key.id, lastUsedAt: START + 2 },
        { id: key.id, lastUsedAt: START + 1 },
        { id: scene.ids.next('key'), lastUsedAt: START },
      ]);
      assert.equal((await store.readApiKeys())[0]!.lastUsedAt, START + 2);
    });
  });
}
