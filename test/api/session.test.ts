// Signing in to the dashboard, what a session may do, how it ends, and who tries to get one that is not theirs.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { DAY_MS, startApi, type Answer, type Api } from './harness.ts';

const HOUR_MS = 3_600_000;
const HOST = 'localhost:8383';
const OWN = { host: HOST, origin: `http://${HOST}` };

let api: Api;
before(async () => {
  api = await startApi();
});
after(() => api.close());
// The attempts of one test are not to be counted against another.
beforeEach(() => api.clock.advance(60_000));

const signIn = (key: string, headers: Record<string, string> = {}) =>
  api.call('POST', '/session', { key: null, body: { key }, headers: { ...OWN, ...headers } });

/** The cookie as a browser sends it back. */
function cookieOf({ headers }: Answer): string {
  return String(headers['set-cookie']).split(';')[0]!;
}

async function begin(mode: 'test' | 'live' = 'test', options: Parameters<Api['makeKey']>[0] = {}) {
  const key = await api.makeKey({ mode, ...options });
  const answer = await signIn(key);
  assert.equal(answer.status, 200, answer.text);
  return { key, answer, cookie: cookieOf(answer) };
}

/** As a script of the dashboard's own page makes a request. */
const read = (cookie: string, headers: Record<string, string> = {}, path = '/v1/destinations') =>
  api.call('GET', path, { key: null, headers: { host: HOST, 'postrider-mode': 'test', cookie, ...headers } });

const codeOf = ({ json }: Answer) => (json.error as { code?: string } | undefined)?.code;

describe('a session', () => {
  test('tells its key, its mode and its end, in a cookie that scripts cannot read', async () => {
    const { answer } = await begin('live', { scopes: ['read', 'operate'] });
    const { mode, key, expires_at } = answer.json as { mode: string; key: { scopes: string[] }; expires_at: string };
    assert.deepEqual([mode, key.scopes], ['live', ['read', 'operate']]);
    assert.equal(Date.parse(expires_at), api.clock.now() + 8 * HOUR_MS);
    assert.match(
      String(answer.headers['set-cookie']),
      /^postrider_live=[\w-]{60,}; Path=\/; Max-Age=28800; HttpOnly; SameSite=Strict$/,
    );
    assert.equal(answer.headers['cache-control'], 'no-store');
  });

  test('is Secure, and no neighbour’s, where the browser came by HTTPS', async () => {
    const key = await api.makeKey({ mode: 'test' });
    const answer = await signIn(key, { host: '10.0.0.5', origin: 'https://10.0.0.5' });
    assert.match(String(answer.headers['set-cookie']), /^__Host-postrider_test=.*; SameSite=Strict; Secure$/);
    const cookie = cookieOf(answer);
    assert.equal((await read(cookie)).status, 200);
    // What somebody put beside it over plain HTTP does not count.
    const { cookie: other } = await begin('test', { scopes: ['publish'] });
    assert.equal((await read(`${other}; ${cookie}`)).status, 200);
  });

  test('makes requests with its key: in its environment, with its scopes', async () => {
    const test_ = await begin('test', { scopes: ['read'] });
    const live = await begin('live', { scopes: ['read', 'manage'] });
    const both = `${test_.cookie}; other=1; ${live.cookie}`;
    const body = { url: 'https://example.com/hook' };
    const headers = { ...OWN, cookie: both };
    const create = (mode: string) =>
      api.call('POST', '/v1/destinations', { key: null, body, headers: { ...headers, 'postrider-mode': mode } });
    assert.equal(codeOf(await create('test')), 'forbidden');
    const { json } = await create('live');
    assert.equal((await read(both, { 'postrider-mode': 'live' }, `/v1/destinations/${String(json.id)}`)).status, 200);
    assert.equal((await read(both, {}, `/v1/destinations/${String(json.id)}`)).status, 404);
    const sessions = await api.expect(200, 'GET', '/session', { key: null, headers });
    const modes = (sessions.json.sessions as { mode: string }[]).map(({ mode }) => mode);
    assert.deepEqual(modes, ['test', 'live']);
  });

  test('ends after eight hours, whatever the browser keeps', async () => {
    const { cookie } = await begin();
    api.clock.advance(8 * HOUR_MS - 1);
    assert.equal((await read(cookie)).status, 200);
    api.clock.advance(1);
    assert.equal(codeOf(await read(cookie)), 'unauthorized');
    const listed = await api.expect(200, 'GET', '/session', { key: null, headers: { host: HOST, cookie } });
    assert.deepEqual(listed.json, { sessions: [] });
  });

  test('ends with its key: by revocation, and by its expiry', async () => {
    const { cookie, answer } = await begin();
    const { id } = answer.json.key as { id: string };
    await api.expect(204, 'DELETE', `/v1/api-keys/${id}`);
    assert.equal(codeOf(await read(cookie)), 'unauthorized');
    const short = await begin('test', { expiresAt: api.clock.now() + HOUR_MS });
    assert.equal(Date.parse(String(short.answer.json.expires_at)), api.clock.now() + HOUR_MS);
    api.clock.advance(HOUR_MS);
    assert.equal(codeOf(await read(short.cookie)), 'unauthorized');
  });

  test('ends at a sign-out, for whoever has its cookie', async () => {
    const { cookie } = await begin();
    const other = await begin();
    const { headers } = await api.expect(204, 'DELETE', '/session/test', { key: null, headers: { ...OWN, cookie } });
    assert.match(String(headers['set-cookie']), /^postrider_test=; Path=\/; Max-Age=0;/);
    assert.equal(codeOf(await read(cookie)), 'unauthorized');
    assert.equal((await read(other.cookie)).status, 200);
    await api.expect(204, 'DELETE', '/session/live', { key: null, headers: { ...OWN, cookie } });
    await api.refuse('not_found', 'DELETE', '/session/both', { key: null, headers: { ...OWN, cookie } });
  });

  test('is a new one at each sign-in, and the one before ends: none can be put there for later', async () => {
    const planted = await begin();
    const key = await api.makeKey({ mode: 'test' });
    const answer = await signIn(key, { cookie: planted.cookie });
    assert.notEqual(cookieOf(answer), planted.cookie);
    assert.equal(codeOf(await read(planted.cookie)), 'unauthorized');
    assert.equal((await read(cookieOf(answer))).status, 200);
  });

  test('stays ended however many others end after it', async () => {
    const first = await begin();
    await api.expect(204, 'DELETE', '/session/test', { key: null, headers: { ...OWN, cookie: first.cookie } });
    const { sessions, key } = { sessions: api.services.dashboard!.sessions, key: first.key };
    const caller = api.services.authenticator.authenticate(`Bearer ${key}`);
    for (let n = 0; n < 10_000; n++) {
      const [cookie] = sessions.begin(caller, { host: HOST }).cookie.split(';');
      sessions.end('test', { host: HOST, cookie: cookie! });
    }
    assert.equal(codeOf(await read(first.cookie)), 'unauthorized');
    api.clock.advance(1);
    assert.equal((await read((await begin()).cookie)).status, 200);
  });
});

describe('a request with a session', () => {
  let cookie: string;
  beforeEach(async () => {
    ({ cookie } = await begin());
  });

  test('is refused from a page elsewhere, whatever that page can send', async () => {
    const foreign: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `https://${HOST}.evil.example` },
      { origin: 'http://localhost:9999' },
      { origin: `${OWN.origin}/` },
      { origin: 'nonsense' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site', ...OWN },
      { 'sec-fetch-site': 'none' },
    ];
    const body = { url: 'https://example.com/hook' };
    for (const headers of foreign) {
      assert.equal(codeOf(await read(cookie, headers)), 'forbidden', JSON.stringify(headers));
      const all = { host: HOST, 'postrider-mode': 'test', cookie, ...headers };
      await api.refuse('forbidden', 'POST', '/v1/destinations', { key: null, body, headers: all });
      await api.refuse('forbidden', 'DELETE', '/session/test', {
        key: null,
        headers: { origin: 'http://x.y', ...all },
      });
    }
    assert.equal((await read(cookie, { 'sec-fetch-site': 'same-origin', ...OWN })).status, 200);
  });

  test('that changes something needs the origin of its page', async () => {
    const headers = { host: HOST, 'postrider-mode': 'test', cookie };
    const body = { url: 'https://example.com/hook' };
    await api.refuse('forbidden', 'POST', '/v1/destinations', { key: null, body, headers });
    await api.expect(201, 'POST', '/v1/destinations', { key: null, body, headers: { ...headers, ...OWN } });
    await api.refuse('forbidden', 'DELETE', '/session/test', { key: null, headers });
  });

  test('needs the header that no form, link or image can send; no preflight allows it to others', async () => {
    const { status } = await api.call('GET', '/v1/destinations', { key: null, headers: { host: HOST, cookie } });
    assert.equal(status, 401);
    assert.equal(codeOf(await read(cookie, { 'postrider-mode': 'live' })), 'unauthorized');
    assert.equal(codeOf(await read(cookie, { 'postrider-mode': 'test, live' })), 'unauthorized');
    const preflight = await api.call('OPTIONS', '/v1/destinations', {
      key: null,
      headers: { host: HOST, origin: 'https://evil.example', 'access-control-request-headers': 'postrider-mode' },
    });
    assert.equal(preflight.status, 401);
    assert.ok(!Object.keys(preflight.headers).some((name) => name.startsWith('access-control')));
  });

  test('is refused under a name that somebody else has given this machine', async () => {
    const origin = 'http://rebound.example:8383';
    const headers = { host: 'rebound.example:8383', origin };
    assert.equal(codeOf(await read(cookie, headers)), 'forbidden');
    assert.equal(codeOf(await signIn(await api.makeKey(), headers)), 'forbidden');
    await api.refuse('forbidden', 'GET', '/session', { key: null, headers: { ...headers, cookie } });
    await api.refuse('forbidden', 'GET', '/', { key: null, headers });
    // The API itself is for programs, which say who they are.
    await api.expect(200, 'GET', '/v1/destinations', { headers });
    for (const host of ['127.0.0.1:8383', '[::1]:8383', '10.1.2.3', 'postrider.localhost', 'LOCALHOST']) {
      assert.equal((await read(cookie, { host })).status, 200, host);
    }
    for (const host of ['a@localhost', 'localhost/x', 'localhost.evil.example', '127.0.0.1.evil.example', ':80']) {
      assert.equal(codeOf(await read(cookie, { host })), 'forbidden', host);
    }
  });

  test('with an Authorization header is made with that key alone', async () => {
    const headers = { host: HOST, 'postrider-mode': 'test', cookie, authorization: 'Bearer wrong' };
    await api.refuse('unauthorized', 'GET', '/v1/destinations', { key: null, headers });
  });

  test('is none with a cookie that was made up, changed, doubled, or sealed for something else', async () => {
    const [, value] = cookie.split('=');
    const bytes = Buffer.from(value!, 'base64url');
    bytes[20]! ^= 1;
    const forged = [
      'postrider_test=',
      'postrider_test=AAAA',
      `postrider_test=${'A'.repeat(90)}`,
      `postrider_test=${bytes.toString('base64url')}`,
      `postrider_test=${value!.slice(0, -8)}`,
      `${cookie}; ${cookie}`,
      `postrider_test=x; ${cookie}`,
    ];
    for (const text of forged) assert.equal(codeOf(await read(text)), 'unauthorized', text);
    const asLive = { 'postrider-mode': 'live' };
    assert.equal(codeOf(await read(`postrider_live=${value}`, asLive)), 'unauthorized');
  });
});

describe('signing in', () => {
  test('with a key that is none, is revoked or has expired is refused as the API refuses it', async () => {
    const expired = await api.makeKey({ expiresAt: api.clock.now() + DAY_MS });
    api.clock.advance(DAY_MS);
    for (const key of ['x', `${expired} x`, expired, `pr_test_${'0'.repeat(36)}`]) {
      const answer = await signIn(key);
      assert.deepEqual([answer.status, codeOf(answer)], [401, 'unauthorized'], key);
      assert.equal(answer.headers['set-cookie'], undefined);
    }
    for (const body of [{}, { key: 1 }, { key: '' }, { key: 'x', mode: 'live' }]) {
      await api.refuse('invalid_request', 'POST', '/session', { key: null, body, headers: OWN });
    }
  });

  test('is refused to a page elsewhere, and to what is not JSON, as forms are', async () => {
    const key = await api.makeKey();
    assert.equal(codeOf(await signIn(key, { origin: 'https://evil.example' })), 'forbidden');
    const headers = { ...OWN, 'content-type': 'text/plain' };
    const body = JSON.stringify({ key });
    await api.refuse('unsupported_media_type', 'POST', '/session', { key: null, body, headers });
  });

  test('fails ten times a minute from an address, whoever is right in between, and goes on elsewhere', async () => {
    const key = await api.makeKey();
    const from = (remoteAddress: string, tried: string) =>
      api.app.inject({ method: 'POST', url: '/session', headers: OWN, payload: { key: tried }, remoteAddress });
    for (let n = 0; n < 10; n++) {
      assert.equal((await from('192.0.2.1', 'wrong')).statusCode, 401);
      assert.equal((await from('192.0.2.2', key)).statusCode, 200);
    }
    const refused = await from('192.0.2.1', key);
    assert.deepEqual([refused.statusCode, refused.headers['retry-after']], [429, '6']);
    assert.equal((await from('192.0.2.2', key)).statusCode, 200);
    api.clock.advance(6_000);
    assert.equal((await from('192.0.2.1', key)).statusCode, 200);
  });

  test('fails a hundred times a minute in all, however many addresses there are', async () => {
    const statuses = new Map<number, number>();
    for (let n = 0; n < 150; n++) {
      // Half of them from one network, which counts as one address.
      const remoteAddress = n % 2 === 0 ? `2001:db8::${n.toString(16)}` : `198.51.100.${n}`;
      const request = {
        method: 'POST',
        url: '/session',
        headers: OWN,
        payload: { key: 'wrong' },
        remoteAddress,
      } as const;
      const { statusCode } = await api.app.inject(request);
      statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1);
    }
    assert.deepEqual(Object.fromEntries(statuses), { 401: 85, 429: 65 });
    for (let n = 0; n < 30; n++) {
      const request = { method: 'POST', url: '/session', headers: OWN, payload: { key: 'wrong' } } as const;
      statuses.set(n, (await api.app.inject({ ...request, remoteAddress: `203.0.113.${n}` })).statusCode);
    }
    assert.deepEqual([statuses.get(14), statuses.get(15)], [401, 429]);
  });
});

describe('a link that signs in', () => {
  const makeLink = async () => {
    const { answer } = await begin();
    return api.services.dashboard!.links.make((answer.json.key as { id: `key_${string}` }).id);
  };
  const follow = (url: string, options: { remoteAddress?: string; method?: 'GET' | 'HEAD'; headers?: object } = {}) =>
    api.app.inject({ method: 'GET', url, ...options, headers: { host: HOST, ...options.headers } });

  const LATE = '/sign-in?reason=link';

  test('signs in once', async () => {
    const link = await makeLink();
    const answer = await follow(link);
    assert.deepEqual([answer.statusCode, answer.headers.location], [303, '/test/']);
    assert.equal(answer.headers['cache-control'], 'no-store');
    const [cookie] = String(answer.headers['set-cookie']).split(';');
    assert.equal((await read(cookie!)).status, 200);
    const again = await follow(link);
    assert.deepEqual([again.statusCode, again.headers.location], [303, LATE]);
    assert.equal(again.headers['set-cookie'], undefined);
  });

  test('is over after ten minutes, and ends with its key', async () => {
    const link = await makeLink();
    api.clock.advance(600_000);
    assert.equal((await follow(link)).headers.location, LATE);
    const { answer } = await begin();
    const { id } = answer.json.key as { id: `key_${string}` };
    const orphan = api.services.dashboard!.links.make(id);
    await api.expect(204, 'DELETE', `/v1/api-keys/${id}`);
    assert.equal((await follow(orphan)).headers.location, LATE);
    assert.equal((await follow('/sign-in/made-up')).headers.location, LATE);
  });

  test('is for this machine alone, and not used up by anyone else', async () => {
    const link = await makeLink();
    const refused = [
      { remoteAddress: '192.0.2.1' },
      { remoteAddress: '::ffff:192.0.2.1' },
      // A proxy on this machine, which connects from here for others.
      { headers: { 'x-forwarded-for': '192.0.2.1' } },
      { headers: { forwarded: 'for=192.0.2.1' } },
      { headers: { host: '10.0.0.5' } },
      { method: 'HEAD' as const },
    ];
    for (const options of refused) {
      const { headers } = await follow(link, options);
      assert.deepEqual([headers.location, headers['set-cookie']], [LATE, undefined], JSON.stringify(options));
    }
    assert.equal((await follow(link, { headers: { host: 'rebound.example' } })).statusCode, 403);
    assert.equal(
      (await follow(link, { remoteAddress: '::1', headers: { host: '[::1]:8383' } })).headers.location,
      '/test/',
    );
  });
});
