// The client as who installs it gets it: built, small, typed for a strict compiler of either generation, and as the
// guide says, whose programs are checked and run as they stand there.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { Webhook } from 'standardwebhooks';
import packageJson from '../../sdk/typescript/package.json' with { type: 'json' };
import { blocksOf, ROOT } from '../docs/blocks.ts';
import { ok, Receiver } from '../e2e/receiver.ts';
import { Service } from '../e2e/service.ts';
import { installBuilt, TSC } from './build.ts';

const GUIDE = 'docs/guides/typescript.md';
const COMPRESSED_BYTES_MAX = 15_000;
const TIMEOUT_MS = 120_000;
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const BUNDLER = join(ROOT, 'dashboard/node_modules/rolldown/dist/index.mjs');

const run = (argv: string[], env: Record<string, string> = {}) =>
  promisify(execFile)(process.execPath, argv, { timeout: TIMEOUT_MS, env: { ...process.env, ...env }, cwd: folder });

/** A project that has the built package in its node_modules, and the guide's programs beside. */
const folder = mkdtempSync(join(tmpdir(), 'postrider-sdk-'));
let installed = '';
const service = new Service();
const receiver = new Receiver(ok);

before(async () => {
  const [built] = await Promise.all([installBuilt(folder), service.start(), receiver.listen()]);
  installed = built;
});
after(async () => {
  await Promise.all([service.end(), receiver.close()]);
  rmSync(folder, { recursive: true, force: true });
});

function failWithOutput(error: { stdout: string }): never {
  assert.fail(error.stdout);
}

test('the package says what is in it', () => {
  for (const file of Object.values(packageJson.exports['.'])) assert.ok(existsSync(join(installed, file)), file);
  assert.deepEqual(Object.keys(packageJson.dependencies), ['standardwebhooks']);
});

test('its declarations are read by compilers before TypeScript 5.7, to which Uint8Array is not generic', () => {
  const files = readdirSync(join(installed, 'dist'), { recursive: true, encoding: 'utf8' });
  const declarations = files.filter((file) => file.endsWith('.d.ts'));
  assert.ok(declarations.length > 10);
  for (const file of declarations) {
    assert.doesNotMatch(readFileSync(join(installed, 'dist', file), 'utf8'), /\bUint8Array</, file);
  }
});

test('it is small, with all it needs', async (t) => {
  if (!existsSync(BUNDLER)) return t.skip('the dashboard’s bundler is not installed: npm run build:dashboard');
  const { rolldown } = (await import(pathToFileURL(BUNDLER).href)) as Bundler;
  const bundle = await rolldown({ input: join(installed, 'dist/postrider.js') });
  const { output } = await bundle.generate({ minify: true });
  const { length } = gzipSync(output[0].code);
  t.diagnostic(`${length} bytes`);
  assert.ok(length <= COMPRESSED_BYTES_MAX, `${length} bytes, compressed`);
});

type Bundler = {
  rolldown: (options: { input: string }) => Promise<{
    generate(options: { minify: boolean }): Promise<{ output: [{ code: string }] }>;
  }>;
};

const STRICT = { target: 'esnext', strict: true, exactOptionalPropertyTypes: true, noEmit: true, types: ['node'] };

/** Never run: what the types are there to say. */
const TYPES = `
import { Postrider, type Destination, type Delivery, type StreamMessage, InvalidUrlError } from '@postrider/client';
declare const client: Postrider;
declare const error: InvalidUrlError;
export const code: 'invalid_url' = error.code;
export async function typed(): Promise<void> {
  const created = await client.destinations.create({ url: 'https://example.com/' });
  const secret: string = created.signing_secret;
  const read: Destination = await client.destinations.get(created.id);
  // @ts-expect-error reads never show it
  read.signing_secret;
  // @ts-expect-error a misspelt field
  await client.events.publish({ type: 'a.b', body: {}, idempotencyKey: 'x' });
  // @ts-expect-error no such status
  client.deliveries.list({ status: 'done' });
  const rows: AsyncIterable<Delivery> = client.deliveries.list({ status: 'dead', since: new Date() });
  const { count } = await client.dlq.replayAll({ dry_run: true });
  const { total } = await client.dlq.replayAll();
  // @ts-expect-error a dry run is no operation
  (await client.dlq.replayAll({ dry_run: true })).total;
  const [result] = await client.events.publishBatch([]);
  if (result?.error) result.error.code.length;
  else result?.event.event_id.length;
  const onMessage = (message: StreamMessage) => (message.kind === 'attempt' ? message.data.delivery_id : message.id);
  interface Order { total: number }
  const order: Order = { total: 1 };
  await client.events.publish({ type: 'a.b', body: order, occurred_at: new Date() });
  const { data } = await client.webhooks.verify<Order>(new Request('http://x'), 'whsec_');
  void [secret, rows, count, total, onMessage, data.total];
}
`;

describe('the guide’s programs', () => {
  const programs = blocksOf(GUIDE).filter(({ language }) => language === 'ts');
  const fileOf = (starts: string): string => {
    const index = programs.findIndex(({ lines }) => lines.join('\n').includes(starts));
    assert.ok(index >= 0, `the guide has no ${starts}`);
    return `program-${index}.ts`;
  };
  const env = (): Record<string, string> => ({
    POSTRIDER_API_KEY: service.key,
    POSTRIDER_URL: service.url,
    RECEIVER_URL: receiver.url,
    SIGNING_SECRET: SECRET,
  });

  before(() => {
    for (const [i, { lines }] of programs.entries()) writeFileSync(join(folder, `program-${i}.ts`), lines.join('\n'));
    writeFileSync(join(folder, 'types.ts'), TYPES);
  });

  const compilers = {
    'TypeScript 7, for Node': { tsc: TSC, settings: { module: 'nodenext', lib: ['esnext'], skipLibCheck: false } },
    // Whose own libraries take it long to check.
    'TypeScript 5, for a bundler': {
      tsc: createRequire(import.meta.resolve('postrider-client-generator')).resolve('typescript/bin/tsc'),
      settings: { module: 'esnext', moduleResolution: 'bundler', lib: ['esnext', 'dom'], skipLibCheck: true },
    },
  };
  for (const [compiler, { tsc, settings }] of Object.entries(compilers)) {
    test(`compile by ${compiler}`, async () => {
      const compilerOptions = { ...STRICT, ...settings };
      const file = join(folder, `${compiler}.json`);
      writeFileSync(file, JSON.stringify({ compilerOptions, include: ['*.ts'] }));
      await run([tsc, '-p', file]).catch(failWithOutput);
    });
  }

  const outputs: Record<string, RegExp> = {
    'new Postrider({\n  apiKey': /^evt_\w+ 0\n$/,
    'destinations.create({ url: process': /^whsec_\S+\nsucceeded 200\n.+\n$/,
    publishBatch: /^evt_\w+\ninvalid_event_type \/events\/1\/type\n$/,
    'for await (const delivery of': /^1 null\n$/,
    InvalidUrlError: /^\/url \S.+\n$/,
    'postrider.stream(': /^order\.paid\n$/,
  };
  for (const [starts, output] of Object.entries(outputs)) {
    test(`run: ${starts.split('\n')[0]}`, async () => {
      const { stdout, stderr } = await run([join(folder, fileOf(starts))], env());
      assert.match(stdout, output);
      assert.equal(stderr, '');
    });
  }

  test('run: webhooks.verify', async () => {
    const program = `
      import { receive } from './${fileOf('webhooks.verify<')}';
      const [body, headers] = JSON.parse(process.argv[2]);
      for (const sent of [body, body + ' ']) {
        console.log((await receive(new Request('http://x', { method: 'POST', headers, body: sent }))).status);
      }`;
    const body = JSON.stringify({ id: 'evt_1', type: 'order.paid', timestamp: '', data: { order_id: 'A-1' } });
    const at = new Date();
    const headers = {
      'webhook-id': 'evt_1',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(SECRET).sign('evt_1', at, body),
    };
    writeFileSync(join(folder, 'receive.mjs'), program);
    const { stdout } = await run([join(folder, 'receive.mjs'), JSON.stringify([body, headers])], env());
    assert.equal(stdout, 'order.paid A-1\n204\n401\n');
  });

  test('all of them are run here', () => {
    assert.equal(programs.length, Object.keys(outputs).length + 1);
  });
});
