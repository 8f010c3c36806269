// Which functions run for one event, from its POST to its recorded delivery: counted by V8 (precise coverage) in every
// thread of a real service, in the half second after the request; not what background loops do in any half second.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { DevTools, type CoveredFunction } from './dev-tools.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Long enough for an attempt to be recorded on any machine that is not swapping. */
const SETTLE_MS = 500;
/** No background loop but those that wake in every span meets all of them. */
const PAIRS = 6;

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
    const [withEvent, without] = [new LeastCalls(), new LeastCalls()];
    for (let pair = 0; pair < PAIRS; pair++) {
      await without.span(tools, async () => undefined);
      await withEvent.span(tools, () => post('events', event));
    }
    tools.close();
    const functions = withEvent.filesBeyond(without);
    const files = new Map<string, number>();
    for (const file of functions) files.set(file, (files.get(file) ?? 0) + 1);
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

/** By place, how often each function was called at least in each of several spans; `begin` begins one. */
class LeastCalls {
  #byPlace: Map<string, CoveredFunction> | null = null;

  async span(tools: DevTools, begin: () => Promise<unknown>): Promise<void> {
    await tools.takeCoverage();
    await begin();
    await sleep(SETTLE_MS);
    const seen = await tools.takeCoverage();
    const before = this.#byPlace ?? seen;
    this.#byPlace = new Map();
    for (const [place, { file, calls }] of before) {
      const least = Math.min(calls, seen.get(place)?.calls ?? 0);
      if (least > 0) this.#byPlace.set(place, { file, calls: least });
    }
  }

  /** The files of the functions that were called more often than in `other`. */
  filesBeyond(other: LeastCalls): string[] {
    return [...this.#byPlace!]
      .filter(([place, { calls }]) => calls > (other.#byPlace!.get(place)?.calls ?? 0))
      .map(([, { file }]) => file);
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
