// The pages that the service serves at `/`: which bytes, with which headers, from a build that may come while it runs.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { createBuildReader } from '../../src/api/dashboard/build.ts';
import type { ApiApp } from '../../src/api/route-config.ts';
import { createServer } from '../../src/api/server.ts';
import { Connection } from './connection.ts';
import { startApi, type Api } from './harness.ts';

const PAGE = '<!doctype html><script type="module" src="/assets/main-Ab1.js"></script>';
const SCRIPT = `console.log(${JSON.stringify('postrider '.repeat(20_000))})`;

let api: Api;
let app: ApiApp;
let around: string;
let folder: string;
before(async () => {
  around = await mkdtemp(join(tmpdir(), 'dashboard-test-'));
  folder = join(around, 'dist');
  await mkdir(folder);
  api = await startApi();
  const { dashboard, clock } = api.services;
  app = await createServer({
    ...api.services,
    dashboard: { ...dashboard!, build: createBuildReader({ folder, clock }), hosts: ['hooks.example.com'] },
  });
});
after(async () => {
  await app.close();
  await api.close();
  await rm(around, { recursive: true, force: true });
});

const get = (url: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') =>
  app.inject({ method, url, headers });

/** The page last, as a build may write it: each of its files may be met without the others. */
async function build(page = PAGE): Promise<void> {
  await mkdir(join(folder, 'assets'), { recursive: true });
  await write('assets/main-Ab1.js', SCRIPT);
  await writeFile(join(folder, 'assets/logo-Cd2.svg'), '<svg/>');
  await write('index.html', page);
  api.clock.advance(1_000);
}

async function write(name: string, text: string): Promise<void> {
  await writeFile(join(folder, `${name}.br`), brotliCompressSync(text));
  await writeFile(join(folder, `${name}.gz`), gzipSync(text));
  await writeFile(join(folder, name), text);
}

describe('before there is a build', () => {
  test('a page says so, and looks again by itself', async () => {
    for (const path of ['/', '/test/deliveries']) {
      const answer = await get(path);
      assert.equal(answer.statusCode, 503);
      assert.match(answer.body, /<meta http-equiv="refresh" content="2">/);
      assert.doesNotMatch(answer.body, /<script|<style|style=/);
      assert.equal(answer.headers['cache-control'], 'no-store');
      assert.equal(answer.headers['retry-after'], '2');
    }
    assert.equal((await get('/assets/main-Ab1.js')).statusCode, 404);
  });

  test('one that lacks an asset is none', async () => {
    await writeFile(join(folder, 'index.html'), PAGE);
    await mkdir(join(folder, 'assets'));
    api.clock.advance(1_000);
    assert.equal((await get('/')).statusCode, 503);
  });
});

describe('with a build', () => {
  before(() => build());

  test('every path of the pages is answered with the document, and no other', async () => {
    for (const path of [
      '/',
      '/sign-in',
      '/sign-in?reason=link',
      '/test',
      '/test/',
      '/live/deliveries/dlv_x?a=b',
      '/test/%zz',
    ]) {
      const answer = await get(path);
      assert.deepEqual([answer.statusCode, answer.body], [200, PAGE], path);
      assert.equal(answer.headers['content-type'], 'text/html; charset=utf-8');
      assert.equal(answer.headers['cache-control'], 'no-cache');
    }
    for (const path of ['/testing', '/nothing', '/assets', '/assets/', '/index.html', '/assets/main-Ab1.js.br']) {
      assert.equal((await get(path)).statusCode, 404, path);
    }
    for (const path of ['/healthz', '/openapi.json', '/metrics']) assert.equal((await get(path)).statusCode, 200, path);
    for (const path of ['/v1', '/v1/', '/v1/nothing']) assert.equal((await get(path)).statusCode, 401, path);
    const { statusCode, headers } = await app.inject({ method: 'POST', url: '/test/x' });
    assert.deepEqual([statusCode, headers.allow], [405, 'GET, HEAD']);
    assert.equal(app.openapi().paths['/'], undefined);
  });

  test('no path leads out of the build', async () => {
    await writeFile(join(around, 'outside.txt'), 'secret');
    for (const path of [
      '../outside.txt',
      '..%2foutside.txt',
      '%2e%2e/index.html',
      '..%5cindex.html',
      '/index.html',
      '%00',
    ]) {
      const answer = await get(`/assets/${path}`);
      assert.notEqual(answer.statusCode, 200, path);
    }
  });

  test('pages run nothing that is not theirs, in nobody’s frame', async () => {
    for (const path of ['/', '/assets/logo-Cd2.svg']) {
      const { headers } = await get(path);
      const policy = String(headers['content-security-policy']);
      assert.match(policy, /default-src 'none'.*frame-ancestors 'none'/);
      assert.doesNotMatch(policy, /unsafe|\*|http/);
      assert.equal(headers['x-content-type-options'], 'nosniff');
    }
    assert.equal((await get('/', { host: 'rebound.example' })).statusCode, 403);
    assert.equal((await get('/', { host: 'hooks.example.com' })).statusCode, 200);
  });

  test('assets never change under their name, and come in the encoding that is preferred', async () => {
    const cases: [accept: string, encoding: string | undefined][] = [
      ['', undefined],
      ['gzip, deflate, br, zstd', 'br'],
      ['gzip', 'gzip'],
      ['br;q=0.5, gzip', 'gzip'],
      ['*', 'br'],
      ['br;q=0, *;q=0.1', 'gzip'],
      ['identity, gzip;q=0.1', undefined],
      ['zstd, br;q=nonsense', undefined],
    ];
    const decode = { br: brotliDecompressSync, gzip: gunzipSync } as const;
    const tags = new Set<unknown>();
    for (const [accept, encoding] of cases) {
      const { headers, rawPayload } = await get('/assets/main-Ab1.js', { 'accept-encoding': accept });
      assert.equal(headers['content-encoding'], encoding, accept);
      const plain = encoding === undefined ? rawPayload : decode[encoding as 'br'](rawPayload);
      assert.equal(plain.toString(), SCRIPT);
      assert.equal(headers['content-length'], String(rawPayload.length));
      assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable');
      assert.equal(headers['vary'], 'accept-encoding');
      assert.equal(headers['content-type'], 'text/javascript; charset=utf-8');
      tags.add(headers.etag);
    }
    assert.equal(tags.size, 3);
  });

  test('what a browser has already is not sent again', async () => {
    const { headers } = await get('/', { 'accept-encoding': 'br' });
    for (const sent of [headers.etag, `W/${headers.etag}`, `"x", ${headers.etag}`, '*']) {
      const again = await get('/', { 'accept-encoding': 'br', 'if-none-match': String(sent) });
      assert.deepEqual([again.statusCode, again.body, again.headers.etag], [304, '', headers.etag], String(sent));
      assert.ok(again.headers['content-security-policy'] !== undefined);
    }
    assert.equal((await get('/', { 'if-none-match': String(headers.etag) })).statusCode, 200, 'of another encoding');
  });

  test('HEAD tells what GET would send', async () => {
    for (const path of ['/live/', '/assets/main-Ab1.js']) {
      const answers = await Promise.all([get(path), get(path, {}, 'HEAD')]);
      const [got, head] = answers.map(({ headers }) => ({ ...headers, date: '', 'x-request-id': '' }));
      assert.deepEqual({ ...head, 'transfer-encoding': undefined }, { ...got, 'transfer-encoding': undefined });
      assert.equal(answers[1].body, '');
    }
  });

  test('one that is built while the service runs is served, with the assets of its own', async () => {
    assert.equal((await get('/')).body, PAGE);
    await build(`${PAGE}<!-- again -->`);
    await utimes(join(folder, 'index.html'), 1, 1);
    api.clock.advance(1_000);
    assert.equal((await get('/')).body, `${PAGE}<!-- again -->`);
  });

  test('over a connection a long asset comes whole, and the connection goes on', async () => {
    await app.listen({ host: '127.0.0.1', port: 0 });
    const connection = new Connection((app.server.address() as AddressInfo).port);
    const request = (method: string, path: string) => `${method} ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`;
    await connection.send(request('GET', '/assets/main-Ab1.js') + request('GET', '/test/'));
    const [asset, page] = [await connection.response(), await connection.response()];
    assert.deepEqual([asset.status, asset.body === SCRIPT], [200, true]);
    assert.deepEqual([page.status, page.body.startsWith(PAGE)], [200, true]);
    connection.socket.destroy();
  });
});

test('with DASHBOARD=off nothing of it is there', async () => {
  const server = await createServer({ ...api.services, dashboard: null });
  for (const [method, url] of [
    ['GET', '/'],
    ['GET', '/test/'],
    ['POST', '/session'],
    ['GET', '/sign-in/x'],
  ] as const) {
    assert.equal((await server.inject({ method, url })).statusCode, 404, url);
  }
  await server.close();
});
