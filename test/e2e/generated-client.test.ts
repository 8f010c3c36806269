// The API document in the hands of others: a client whose types openapi-typescript generates from it must compile
// without a cast, refuse mistakes, and work against a running service, webhook included.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { generateTypes } from 'postrider-client-generator';
import { Webhook } from 'standardwebhooks';
import { startService, type Scope } from './service.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TIMEOUT_MS = 60_000;
const TSCONFIG = {
  compilerOptions: {
    target: 'esnext',
    lib: ['esnext'],
    types: ['node'],
    module: 'nodenext',
    noEmit: true,
    allowImportingTsExtensions: true,
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
  },
};

const run = (argv: string[]) => promisify(execFile)(process.execPath, argv, { timeout: TIMEOUT_MS });

test('a generated client creates, subscribes, publishes, receives and reads by its types alone', async (t) => {
  const service = await startService(t);
  const document = await (await fetch(`${service.url}/openapi.json`)).text();
  const folder = await makeProject(t, document);
  await run([join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', folder]).catch((error: { stdout: string }) => {
    assert.fail(error.stdout);
  });
  const { stdout } = await run([join(folder, 'program.ts'), service.url, service.key]);
  checkWebhook(document, JSON.parse(stdout) as Got);
});

/** The client program beside its generated types, with this project's packages. */
async function makeProject(scope: Scope, document: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-client-'));
  scope.after(() => rm(folder, { recursive: true, force: true }));
  await Promise.all([
    symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules')),
    writeFile(join(folder, 'package.json'), '{ "type": "module" }'),
    writeFile(join(folder, 'tsconfig.json'), JSON.stringify(TSCONFIG)),
    writeFile(join(folder, 'openapi.ts'), await generateTypes(document)),
    copyFile(join(ROOT, 'test/client/program.ts'), join(folder, 'program.ts')),
  ]);
  return folder;
}

/** What the client's receiver got, and the secret to verify it with. */
type Got = { headers: Record<string, string>; body: string; secret: string };

function checkWebhook(document: string, { headers, body, secret }: Got): void {
  const parsed = JSON.parse(document) as { webhooks: { event: { post: Described } } };
  const { parameters } = parsed.webhooks.event.post;
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  ajv.addSchema(parsed, 'document');
  const payload = 'document#/webhooks/event/post/requestBody/content/application~1json/schema';
  assert.ok(ajv.validate(payload, JSON.parse(body)), ajv.errorsText());
  for (const { name, required, schema: form } of parameters) {
    if (!required && headers[name] === undefined) continue;
    assert.ok(ajv.validate(form, headers[name]), `${name}: ${headers[name]}`);
  }
  const own = Object.keys(headers).filter((name) => /^(webhook|postrider)-/.test(name));
  assert.deepEqual(
    own.filter((name) => !parameters.some((parameter) => parameter.name === name)),
    [],
    'headers that are not described',
  );
  new Webhook(secret).verify(body, headers);
}

type Described = { parameters: { name: string; required: boolean; schema: object }[] };
