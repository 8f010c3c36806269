import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import type { DestinationId } from '../../src/model/id.ts';
import { addDestination, startApi, type Api, type Json } from './harness.ts';

let api: Api;
let id: string;
let url: string;
before(async () => {
  api = await startApi();
});
after(() => api.close());
beforeEach(async () => {
  id = await addDestination(api, { eventType: null });
  url = `/v1/destinations/${id}/signing-keys`;
});

const rotate = (body: Json = {}) => api.expect(201, 'POST', `${url}/rotate`, { body });
const list = async (): Promise<Json[]> => (await api.expect(200, 'GET', url)).json.data as Json[];

test('rotating makes a new key, and the old one signs on for a day', async () => {
  const [old] = await list();
  api.clock.advance(5_000);
  const { json } = await api.expect(201, 'POST', `${url}/rotate`);
  const now = api.clock.now();
  assert.match(String(json.signing_secret), /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.equal(json.created_at, new Date(now).toISOString());
  assert.equal(json.previous_expires_at, new Date(now + 86_400_000).toISOString());
  assert.deepEqual(await list(), [
    { id: json.id, created_at: json.created_at, expires_at: null },
    { ...old, expires_at: json.previous_expires_at },
  ]);
});

test('a key is brought along, is the one that signs, and is named where it is wrong', async () => {
  const secret = `whsec_${Buffer.alloc(24, 251).toString('base64')}`;
  const error = await api.refuse('invalid_request', 'POST', `${url}/rotate`, { body: { signing_secret: 'whsec_x' } });
  assert.equal(error.param, '/signing_secret');
  const { json } = await rotate({ signing_secret: secret, overlap_seconds: 0 });
  assert.equal(json.signing_secret, secret);
  const stored = await api.store.readDestination({ environment: 1, id: id as DestinationId });
  assert.deepEqual(Buffer.from(stored!.signingKeys[0]!.secret), Buffer.alloc(24, 251));
  assert.ok(!JSON.stringify(await list()).includes('secret'));
});

test('a second rotation during the overlap says when it ends', async () => {
  await rotate({ overlap_seconds: 100 });
  api.clock.advance(40_500);
  const answer = await api.expect(409, 'POST', `${url}/rotate`);
  assert.equal((answer.json.error as Json).code, 'rotation_in_progress');
  assert.equal(answer.headers['retry-after'], '60');
  api.clock.advance(60_000);
  await rotate();
});

test('without an overlap the old key ends at once', async () => {
  const { json } = await rotate({ overlap_seconds: 0 });
  assert.deepEqual(
    (await list()).map((key) => key.id),
    [json.id],
  );
  await rotate({ overlap_seconds: 604_800 });
});

test('ending the old key ends the overlap', async () => {
  const [old] = await list();
  const { json } = await rotate();
  await api.expect(204, 'DELETE', `${url}/${String(old!.id)}`);
  assert.deepEqual(
    (await list()).map((key) => key.id),
    [json.id],
  );
  await api.refuse('not_found', 'DELETE', `${url}/${String(old!.id)}`);
  await rotate();
});

test('the newest key cannot be ended', async () => {
  const { json } = await rotate();
  await api.refuse('invalid_request', 'DELETE', `${url}/${String(json.id)}`);
});

test('unknown and malformed key ids are not_found', async () => {
  const foreign = await addDestination(api, { eventType: null });
  const { json } = await api.expect(200, 'GET', `/v1/destinations/${foreign}/signing-keys`);
  const foreignKey = String((json.data as Json[])[0]!.id);
  for (const keyId of ['sgk_00000000000000000000000000', foreignKey, id, 'x', '%20']) {
    await api.refuse('not_found', 'DELETE', `${url}/${keyId}`);
  }
});

test('a destination that is not there has no signing keys', async () => {
  const key = await api.makeKey({ mode: 'test' });
  const keyId = String((await list())[0]!.id);
  for (const place of [`/v1/destinations/dst_x/signing-keys`, url]) {
    const call = place === url ? { key } : {};
    await api.refuse('destination_not_found', 'GET', place, call);
    await api.refuse('destination_not_found', 'POST', `${place}/rotate`, call);
    await api.refuse('destination_not_found', 'DELETE', `${place}/${keyId}`, call);
    await api.refuse('destination_not_found', 'DELETE', `${place}/x`, call);
  }
});

test('the overlap is a whole number of seconds, a week at most', async () => {
  for (const overlap_seconds of [-1, 604_801, 1.5, '5', null]) {
    const error = await api.refuse('invalid_request', 'POST', `${url}/rotate`, { body: { overlap_seconds } });
    assert.equal(error.param, '/overlap_seconds');
  }
});

test('the list has pages like any other', async () => {
  await rotate();
  const all = await list();
  const first = (await api.expect(200, 'GET', `${url}?limit=1`)).json;
  assert.deepEqual([first.data, first.has_more], [[all[0]], true]);
  const second = (await api.expect(200, 'GET', `${url}?limit=1&cursor=${String(first.next_cursor)}`)).json;
  assert.deepEqual(second, { data: [all[1]], has_more: false, next_cursor: null });
  await api.refuse('invalid_cursor', 'GET', `${url}?cursor=x`);
});
