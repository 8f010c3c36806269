// npm run test:clients: generates clients in Python, Go and Java from the OpenAPI document, and drives each against a
// real service. Needs python3, go, java and mvn; the generators come from their registries, into node_modules/.cache.
// Prints what works, for the table in docs/guides/clients.md.
import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Receiver } from '../test/e2e/receiver.ts';
import { Service } from '../test/e2e/service.ts';

const PYTHON_GENERATOR = 'openapi-python-client==0.29.1';
const GO_GENERATOR = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2';
const JAVA_GENERATOR = { version: '7.17.0', name: 'org.openapitools:openapi-generator-cli' };
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CACHE = join(ROOT, 'node_modules/.cache/clients');
const DRIVERS = join(ROOT, 'test/clients');
const STEPS = ['create', 'subscribe', 'publish', 'read', 'retry', 'replay', 'error'];
const TIMEOUT_MS = 280_000;
/** The first attempt fails, and the one that is asked for; the replay's arrives. */
const FAILURES = 2;

const run = async (program: string, argv: string[], cwd: string, env: Record<string, string> = {}) =>
  (
    await promisify(execFile)(program, argv, {
      cwd,
      timeout: TIMEOUT_MS,
      env: { ...process.env, ...env },
      maxBuffer: 64 * 1024 * 1024,
    })
  ).stdout;

/** Makes a client in the folder; resolves to how its driver is run. */
type Make = (folder: string, document: string) => Promise<[program: string, ...argv: string[]]>;

const makePython: Make = async (folder, document) => {
  const environment = join(CACHE, 'python');
  const bin = join(environment, 'bin');
  if (!existsSync(bin)) await run('python3', ['-m', 'venv', environment], CACHE);
  await run(join(bin, 'pip'), ['install', '--quiet', PYTHON_GENERATOR], CACHE);
  const target = ['--path', document, '--output-path', join(folder, 'postrider_client'), '--meta', 'none'];
  await run(join(bin, 'openapi-python-client'), ['generate', ...target], folder);
  copyFileSync(join(DRIVERS, 'drive.py'), join(folder, 'drive.py'));
  return [join(bin, 'python'), 'drive.py'];
};

const makeGo: Make = async (folder, document) => {
  await run('go', ['install', GO_GENERATOR], CACHE, { GOBIN: CACHE });
  mkdirSync(join(folder, 'postrider'));
  writeFileSync(join(folder, 'go.mod'), 'module drive\n\ngo 1.24\n');
  const target = ['-package', 'postrider', '-o', 'postrider/client.go', document];
  await run(join(CACHE, 'oapi-codegen'), ['-generate', 'types,client,skip-prune', ...target], folder);
  copyFileSync(join(DRIVERS, 'drive.go'), join(folder, 'main.go'));
  await run('go', ['mod', 'tidy'], folder);
  await run('go', ['build', '-o', 'drive', '.'], folder);
  return [join(folder, 'drive')];
};

const makeJava: Make = async (folder, document) => {
  const { name, version } = JAVA_GENERATOR;
  await run('mvn', ['--quiet', '--batch-mode', 'dependency:get', `-Dartifact=${name}:${version}`], folder);
  const [group, artifact] = name.split(':') as [string, string];
  const jar = join(homedir(), '.m2/repository', ...group.split('.'), artifact, version, `${artifact}-${version}.jar`);
  const packages = 'invokerPackage=dev.postrider,apiPackage=dev.postrider.api,modelPackage=dev.postrider.model';
  const target = ['-i', document, '-g', 'java', '--library', 'native', '-o', folder];
  const leftOut = 'apiDocs=false,modelDocs=false,apiTests=false,modelTests=false';
  await run(
    'java',
    ['-jar', jar, 'generate', ...target, `--additional-properties=${packages}`, '--global-property', leftOut],
    folder,
  );
  copyFileSync(join(DRIVERS, 'Drive.java'), join(folder, 'src/main/java/Drive.java'));
  const goals = ['compile', 'dependency:copy-dependencies', '-DincludeScope=runtime'];
  await run('mvn', ['--quiet', '--batch-mode', ...goals], folder);
  return ['java', '-cp', 'target/classes:target/dependency/*', 'Drive'];
};

const CLIENTS: Record<string, Make> = { python: makePython, go: makeGo, java: makeJava };

async function drive(language: string, make: Make, document: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), `postrider-${language}-`));
  let done: string[] = [];
  try {
    const [program, ...argv] = await make(folder, document);
    const url = `${receiver.url}${language}`;
    const stdout = await run(program, [...argv, service.url, service.key, url, `clients.${language}`], folder);
    done = stdout.trim().split('\n');
    return `${language}: ${STEPS.map((step) => `${step} ${done.includes(step) ? '✔' : '✖'}`).join('  ')}\n`;
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
    return `${language}: fails after ${stdout.trim().split('\n').at(-1)}\n${stderr || stdout || message}\n`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const asked = process.argv.slice(2);
const attempts = new Map<string, number>();
const receiver = new Receiver((request) => {
  const count = (attempts.get(request.path) ?? 0) + 1;
  attempts.set(request.path, count);
  request.answer(count <= FAILURES ? 500 : 200);
});
const service = new Service();
mkdirSync(CACHE, { recursive: true });
try {
  await Promise.all([service.start(), receiver.listen()]);
  const document = join(CACHE, 'openapi.json');
  writeFileSync(document, await (await fetch(`${service.url}/openapi.json`)).text());
  for (const [language, make] of Object.entries(CLIENTS)) {
    if (asked.length > 0 && !asked.includes(language)) continue;
    const result = await drive(language, make, document);
    if (result.includes('✖') || result.includes('fails')) process.exitCode = 1;
    process.stdout.write(result);
  }
} finally {
  await Promise.all([service.end(), receiver.close()]);
}
