// kill -9 in the middle of commits: all that was acknowledged is there afterwards, and nothing is there by half.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, it } from 'node:test';
import type { DeliveryId, DestinationId, EventId } from '../../src/model/id.ts';
import type { Store } from '../../src/store/store.ts';
import type { Acknowledgement } from './accepting-child.ts';
import { makeDataDir, openServer } from './data-dirs.ts';
import { LIVE, Scene } from './scene.ts';

/** Acknowledged rows at which each process is killed, round after round; `npm run test:soak` asks for more rounds. */
const ROUNDS = Number(process.env['CRASH_ROUNDS'] ?? 3);
const rowsIn = (round: number): number => [40, 400, 1_100][round % 3]!;

const CHILD = fileURLToPath(new URL('./accepting-child.ts', import.meta.url));

/** Lets the child work until it has acknowledged so many rows, then kills it; returns all it had said by then. */
async function workAndKill(dataDir: string, destination: DestinationId, rows: number): Promise<Acknowledgement> {
  const child = fork(CHILD, [dataDir, destination]);
  // Comes after the last message.
  const disconnected = once(child, 'disconnect');
  const exited = once(child, 'exit');
  const acknowledged: Acknowledgement = { accepted: [], recorded: [] };
  child.on('message', ({ accepted, recorded }: Acknowledgement) => {
    acknowledged.accepted.push(...accepted);
    acknowledged.recorded.push(...recorded);
    if (acknowledged.accepted.length + acknowledged.recorded.length >= rows) child.kill('SIGKILL');
  });
  const [[, signal]] = await Promise.all([exited, disconnected]);
  assert.equal(signal, 'SIGKILL', 'the child did not end by itself');
  return acknowledged;
}

async function assertWhole(store: Store, { accepted, recorded }: Acknowledgement): Promise<void> {
  for (const id of accepted) {
    const event = await store.readEvent({ environment: LIVE, id });
    assert.ok(event !== null, `${id} was acknowledged`);
    assert.ok(event.body !== null);
    assert.equal(event.deliveries.length, 2);
  }
  for (const id of recorded) {
    const delivery = await store.readDelivery({ environment: LIVE, id });
    assert.deepEqual([delivery?.status, delivery?.attempts.length], ['succeeded', 1], id);
  }
}

describe('after kill -9', () => {
  it('everything acknowledged is there, and every event is whole', async (t) => {
    const dataDir = makeDataDir(t);
    const first = new Scene(await openServer(t, dataDir));
    const destination = await first.createDestination();
    await first.store.close();
    const all: Acknowledgement = { accepted: [], recorded: [] };
    for (let round = 0; round < ROUNDS; round++) {
      const acknowledged = await workAndKill(dataDir, destination, rowsIn(round));
      all.accepted.push(...acknowledged.accepted);
      all.recorded.push(...acknowledged.recorded);

      const store = await openServer(t, dataDir);
      await assertWhole(store, all);
      await assertCountsAgree(store);
      await store.close();
    }
  });
});

/** Counted at open from one index, walked here through another; events that nobody heard of included. */
async function assertCountsAgree(store: Store): Promise<void> {
  let events = 0;
  let before: EventId | null = null;
  do {
    const page = await store.listEvents({
      environment: LIVE,
      type: null,
      since: null,
      until: null,
      before,
      limit: 100,
    });
    for (const { id } of page.rows) {
      const event = await store.readEvent({ environment: LIVE, id });
      assert.equal(event!.deliveries.length, 2, `${id} is whole`);
    }
    events += page.rows.length;
    before = page.next;
  } while (before !== null);
  let finished = 0;
  let cursor: DeliveryId | null = null;
  do {
    const filter = { eventId: null, destinationId: null, status: 'succeeded' as const, since: null, until: null };
    const page = await store.listDeliveries({ environment: LIVE, filter, before: cursor, limit: 100 });
    finished += page.rows.length;
    cursor = page.next;
  } while (cursor !== null);
  const { unfinished } = await store.readStats();
  assert.deepEqual(unfinished, [{ environment: LIVE, count: 2 * events - finished }]);
}
