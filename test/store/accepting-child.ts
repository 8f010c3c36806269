// Accepts and records as fast as it can on the data directory it is given, and says on standard output what was
// acknowledged, a line each. Its parent kills it in the middle.
import { writeSync } from 'node:fs';
import { systemClock } from '../../src/runtime/clock.ts';
import { createIds } from '../../src/runtime/ids.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import type { DestinationId } from '../../src/model/id.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { MASTER_KEY } from './data-dirs.ts';
import { Scene, result, succeed } from './scene.ts';

const [, , dataDir, destinationId] = process.argv as [string, string, string, DestinationId];
const store = await openSqliteStore({ dataDir, masterKey: MASTER_KEY, random: systemRandom, diskReserveBytes: 0 });
const ids = createIds(systemClock, systemRandom);

/** Written at once: what is in this process's buffers when it dies was not acknowledged to anybody. */
const acknowledge = (line: string): void => void writeSync(1, `${line}\n`);

async function acceptAndRecord(): Promise<never> {
  const scene = new Scene(store);
  for (;;) {
    const template = await scene.event([]);
    const events = Array.from({ length: 20 }, () => ({
      ...template,
      id: ids.next('evt'),
      deliveries: [scene.delivery(destinationId), scene.delivery(destinationId)].map((delivery) => ({
        ...delivery,
        id: ids.next('dlv'),
      })),
    }));
    await store.acceptEvents(events);
    for (const event of events) acknowledge(`accepted ${event.id}`);
    const results = events.map((event) => result(event.deliveries[0]!.id, 0, succeed()));
    await scene.record(...results);
    for (const { id } of results) acknowledge(`recorded ${id}`);
  }
}

acknowledge('ready');
// Several at a time, so that the kill finds transactions in every state.
await Promise.all([acceptAndRecord(), acceptAndRecord(), acceptAndRecord()]);
