// npm run test:runtimes: the client as it is published, on every runtime that it is for, against a real service. The
// runtimes come from the npm registry, into node_modules/.cache. Prints the rows of the table in
// docs/guides/typescript.md.
import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Service } from '../test/e2e/service.ts';
import { installBuilt } from '../test/sdk/build.ts';
import { Proxy } from '../test/sdk/proxy.ts';

const RUNTIMES = ['node@20', 'node@22', 'node@24', 'node@26', 'bun', 'deno', 'workerd'];
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CACHE = join(ROOT, 'node_modules/.cache/runtimes');
const PROGRAM = 'runtime-program.mjs';
const TIMEOUT_MS = 120_000;
/** It must use the packages that are there, and may do what any other runtime lets programs do. */
const DENO_FLAGS = ['run', '--allow-all', '--node-modules-dir=manual', '--quiet'];

const run = promisify(execFile);

/** What runs a worker, and what makes one file of it. */
const WORKER_TOOLS = ['workerd', 'rolldown'];
const WORKER = `import { main } from './${PROGRAM}';
export default { test: (controller, { ARGV }) => main(ARGV) };`;

/** Resolves to its program. */
async function install(runtime: string): Promise<string> {
  const folder = join(CACHE, runtime);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  const flags = ['--no-audit', '--no-fund', '--no-save', '--loglevel=error', '--prefix', folder];
  const packages = runtime === 'workerd' ? WORKER_TOOLS : [runtime];
  await run('npm', ['install', ...flags, ...packages], { cwd: folder, timeout: TIMEOUT_MS });
  return join(folder, 'node_modules/.bin', runtime.split('@')[0]!);
}

/** A worker is one file, and what it may ask is said beside it. Resolves to what runs it. */
async function makeWorker(program: string, argv: string[]): Promise<string[]> {
  writeFileSync(join(project, 'worker.mjs'), WORKER);
  const bundler = join(dirname(program), 'rolldown');
  await run(bundler, ['worker.mjs', '--file', 'worker.js', '--format', 'esm'], { cwd: project, timeout: TIMEOUT_MS });
  const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [
  (name = "main", worker = (
    modules = [(name = "worker", esModule = embed "worker.js")],
    compatibilityDate = "2025-01-01",
    bindings = [(name = "ARGV", json = ${JSON.stringify(JSON.stringify(argv))})],
    globalOutbound = "network"
  )),
  (name = "network", network = (allow = ["public", "private"]))
]);`;
  writeFileSync(join(project, 'worker.capnp'), config);
  return ['test', 'worker.capnp'];
}

async function tryOn(runtime: string, argv: string[]): Promise<string> {
  try {
    const program = await install(runtime);
    const { stdout } = await run(program, ['--version']);
    const line = runtime === 'workerd' ? await makeWorker(program, argv) : [PROGRAM, ...argv];
    const flags = runtime === 'deno' ? DENO_FLAGS : [];
    const result = await run(program, [...flags, ...line], { cwd: project, timeout: TIMEOUT_MS }).then(
      () => 'works',
      ({ stderr }: { stderr: string }) => `fails: ${/.*Error.*/.exec(stderr)?.[0] ?? stderr.trim().split('\n')[0]}`,
    );
    return `| ${runtime.split('@')[0]} | ${/\d+(?:[.-]\d+)+/.exec(stdout)![0]} | ${result} |`;
  } catch (error) {
    return `| ${runtime} | not installed | ${String(error).split('\n')[0]} |`;
  }
}

const project = mkdtempSync(join(tmpdir(), 'postrider-runtimes-'));
const service = new Service({ REACHABILITY_CHECK: 'off' });
const proxy = new Proxy();
try {
  await Promise.all([installBuilt(project), service.start(), proxy.listen()]);
  copyFileSync(join(ROOT, 'test/sdk', PROGRAM), join(project, PROGRAM));
  proxy.target = service.url;
  for (const runtime of RUNTIMES) {
    proxy.failures = ['cut', 'none', 'cut', 'hang', 'hang', 'hang'];
    const row = await tryOn(runtime, [service.url, proxy.url, service.key]);
    if (!row.endsWith('| works |')) process.exitCode = 1;
    process.stdout.write(`${row}\n`);
  }
} finally {
  await Promise.all([service.end(), proxy.close()]);
  rmSync(project, { recursive: true, force: true });
}
