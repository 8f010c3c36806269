import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bearerToken, createAuthenticator, UnknownKeyError } from '../../src/api/auth.ts';
import type { ApiKey } from '../../src/model/api-key.ts';
import { createIds } from '../../src/runtime/ids.ts';
import { mintApiKey } from '../../src/runtime/mint-api-key.ts';
import { systemRandom as random } from '../../src/runtime/random.ts';
import { ManualClock } from '../support/manual-clock.ts';

const clock = new ManualClock();
const ids = createIds(clock, random);
const mint = () =>
  mintApiKey({ mode: 'live', environment: 1, name: null, scopes: [], expiresAt: null }, { random, clock, ids });

test('the token of a Bearer header', () => {
  const headers: [header: string | undefined, token: string | null][] = [
    [undefined, null],
    ['', null],
    ['Bearer abc', 'abc'],
    ['BEARER   abc  ', 'abc'],
    ['Bearer a b', null],
    ['Bearerabc', null],
    ['Basic abc', null],
  ];
  for (const [header, token] of headers) assert.equal(bearerToken(header), token);
});

test('of two refreshes under way the later one counts, whichever answers first', async () => {
  const [kept, revoked] = [mint(), mint()];
  const answers: ((keys: ApiKey[]) => void)[] = [];
  const store = { readApiKeys: () => new Promise<ApiKey[]>((resolve) => answers.push(resolve)) };
  const authenticator = createAuthenticator({ store, clock });
  const [first, second] = [authenticator.refresh(), authenticator.refresh()];
  answers[1]!([kept.key]);
  await second;
  answers[0]!([kept.key, revoked.key]);
  await first;
  assert.equal(authenticator.authenticate(`Bearer ${kept.secret}`), kept.key);
  assert.throws(() => authenticator.authenticate(`Bearer ${revoked.secret}`), { code: 'unauthorized' });
});

test('a refresh that was overtaken still holds when it resolves', async () => {
  const { key, secret } = mint();
  const answers: ((keys: ApiKey[]) => void)[] = [];
  const store = { readApiKeys: () => new Promise<ApiKey[]>((resolve) => answers.push(resolve)) };
  const authenticator = createAuthenticator({ store, clock });
  const first = authenticator.refresh();
  void authenticator.refresh();
  answers[0]!([key]);
  await first;
  assert.equal(authenticator.authenticate(`Bearer ${secret}`), key);
});

test('an unknown key is looked for, ten times a second at most, so that one just made elsewhere is known', async () => {
  const [first, second] = [mint(), mint()];
  const stored: ApiKey[] = [];
  let reads = 0;
  const store = { readApiKeys: () => Promise.resolve((reads++, [...stored])) };
  const authenticator = createAuthenticator({ store, clock });
  await authenticator.refresh();
  assert.throws(() => authenticator.authenticate(`Bearer ${first.secret}`), UnknownKeyError);
  stored.push(first.key);
  await authenticator.refreshForUnknown();
  assert.equal(authenticator.authenticate(`Bearer ${first.secret}`), first.key);
  assert.equal(reads, 2);
  stored.push(second.key);
  assert.throws(() => authenticator.authenticate(`Bearer ${second.secret}`), UnknownKeyError);
  const refreshed = Promise.all(Array.from({ length: 100 }, () => authenticator.refreshForUnknown()));
  clock.advance(99);
  assert.equal(reads, 2, 'made-up keys do not make the store busy');
  clock.advance(1);
  await refreshed;
  assert.equal(reads, 3, 'one for all who wait');
  assert.equal(authenticator.authenticate(`Bearer ${second.secret}`), second.key);
});
