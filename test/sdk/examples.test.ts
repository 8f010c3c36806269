// The examples, as they stand, on the client as it is published: each receiver believes what is signed and nothing
// else. Express and Hono are no dependencies of Postrider: their examples run where they are installed in examples/, as
// `npm run test:examples` does.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { ROOT } from '../docs/blocks.ts';
import { Service } from '../e2e/service.ts';
import { installBuilt } from './build.ts';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const BODY = JSON.stringify({ id: 'evt_1', type: 'order.paid', timestamp: '', data: { order_id: 'A-1001' } });
const FRAMEWORKS: Record<string, string[]> = {
  node: [],
  fastify: ['fastify'],
  express: ['express'],
  hono: ['hono', '@hono'],
};

const folder = mkdtempSync(join(tmpdir(), 'postrider-examples-'));
const service = new Service();
before(async () => {
  await Promise.all([installBuilt(folder), service.start()]);
  cpSync(join(ROOT, 'examples'), folder, { recursive: true, filter: (path) => !path.includes('node_modules') });
  for (const name of Object.values(FRAMEWORKS).flat()) {
    const found = folderOf(name);
    if (found !== undefined) symlinkSync(found, join(folder, 'node_modules', name));
  }
});
after(async () => {
  await service.end();
  rmSync(folder, { recursive: true, force: true });
});

function folderOf(name: string): string | undefined {
  return ['examples/node_modules', 'node_modules'].map((one) => join(ROOT, one, name)).find((one) => existsSync(one));
}

test('the publisher publishes, once', async () => {
  const env = { ...process.env, POSTRIDER_URL: service.url, POSTRIDER_API_KEY: service.key };
  const publish = () => promisify(execFile)(process.execPath, [join(folder, 'publish.ts')], { env });
  const first = await publish();
  assert.match(first.stdout, /^evt_\w+, deliveries: 0\n$/);
  assert.equal((await publish()).stdout, first.stdout);
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Resolves to the status; asks again until somebody listens. */
async function post(port: number, body: string, type = 'application/json'): Promise<number> {
  const at = new Date();
  const headers = {
    'content-type': type,
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(SECRET).sign('evt_1', at, BODY),
  };
  const deadline = performance.now() + 60_000;
  for (;;) {
    try {
      return (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body })).status;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

for (const [framework, packages] of Object.entries(FRAMEWORKS)) {
  test(`a receiver with ${framework}`, async (t) => {
    const missing = packages.filter((name) => folderOf(name) === undefined);
    if (missing.length > 0) return t.skip(`${missing.join(', ')} is not installed: npm run test:examples`);
    const port = await freePort();
    const env = { ...process.env, SIGNING_SECRET: SECRET, PORT: String(port) };
    const receiver = spawn(process.execPath, [join(folder, `receive-${framework}.ts`)], { env });
    t.after(() => receiver.kill('SIGKILL'));
    let errors = '';
    receiver.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    const line = once(createInterface({ input: receiver.stdout }), 'line');
    const ended = once(receiver, 'exit').then(() => assert.fail(`it ended: ${errors}`));
    assert.equal(await Promise.race([post(port, BODY), ended]), 204);
    assert.deepEqual(await line, ['order.paid A-1001']);
    assert.equal(await post(port, `${BODY} `), 401);
    if (framework === 'fastify') assert.equal(await post(port, BODY, 'text/xml'), 415);
    ended.catch(() => undefined);
  });
}
