// Which functions run for one event, from its POST to its recorded delivery: counted by V8 (precise coverage) in every
// thread of a real service, over the half second after the request. What a background loop did meanwhile counts too.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { DevTools } from './dev-tools.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Long enough for an attempt to be recorded on any machine that is not swapping. */
const SETTLE_MS = 500;

export async function coverOneEvent(): Promise<{ files: string[]; functionCount: number }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'postrider-structure-'));
  const receiver = createServer((request, response) => void request.resume().on('end', () => response.end('ok')));
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const service = spawn(
    join(ROOT, 'node_modules/node/bin/node'),
    ['--inspect=127.0.0.1:0', join(ROOT, 'src/main.ts'), 'serve', '--port', '0', '--data-dir', dataDir, '--json'],
    { env: { ...process.env, POSTRIDER_TEST_SUBNETS: '127.0.0.0/8' }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  try {
    const [inspector, started] = await Promise.all([inspectorOf(service), startedOf(service)]);
    const post = createPoster(started);
    const { id } = await post('destinations', { url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/` });
    await post('subscriptions', { destination_id: id, event_type: 'order.*' });
    const event = { type: 'order.paid', body: { order: 1 } };
    await post('events', event);
    await sleep(SETTLE_MS);
    const tools = await DevTools.connect(inspector);
    await tools.startCoverage();
    await tools.takeCoverage();
    await post('events', event);
    await sleep(SETTLE_MS);
    const functions = await tools.takeCoverage();
    tools.close();
    const files = new Map<string, number>();
    for (const { file } of functions) files.set(file, (files.get(file) ?? 0) + 1);
    return {
      files: [...files].toSorted(([a], [b]) => a.localeCompare(b)).map(([file, count]) => `${count} ${file}`),
      functionCount: functions.length,
    };
  } finally {
    service.kill('SIGKILL');
    receiver.closeAllConnections();
    receiver.close();
    await rm(dataDir, { recursive: true, force: true });
  }
}

type Started = { url: string; keys: { key: string }[] };

function createPoster({ url, keys }: Started) {
  const headers = { authorization: `Bearer ${keys[0]!.key}`, 'content-type': 'application/json' };
  return async (path: string, body: unknown): Promise<{ id: string }> => {
    const response = await fetch(`${url}/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as { id: string };
  };
}

async function inspectorOf(service: ChildProcess): Promise<string> {
  for await (const line of createInterface(service.stderr!)) {
    const address = /ws:\/\/\S+/.exec(line)?.[0];
    if (address !== undefined) return address;
  }
  throw new Error('the service ended before it could be inspected');
}

async function startedOf(service: ChildProcess): Promise<Started> {
  for await (const line of createInterface(service.stdout!)) {
    const value = JSON.parse(line) as Partial<Started>;
    if (value.url !== undefined && value.keys !== undefined) {
      service.stdout!.resume();
      return value as Started;
    }
  }
  throw new Error('the service ended before it served');
}
