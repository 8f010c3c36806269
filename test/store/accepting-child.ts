// Accepts and records as fast as it can on the data directory it is given, and tells its parent what was acknowledged.
// Its parent kills it in the middle.
import { systemClock } from '../../src/runtime/clock.ts';
import { createIds } from '../../src/runtime/ids.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import type { DeliveryId, DestinationId, EventId } from '../../src/model/id.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { MASTER_KEY } from './data-dirs.ts';
import { Scene, result, succeed } from './scene.ts';

export type Acknowledgement = { accepted: EventId[]; recorded: DeliveryId[] };

const [, , dataDir, destinationId] = process.argv as [string, string, string, DestinationId];

/**
 * Resolves when the message has left this process, however far behind its parent is. Until then, and should the kill
 * cut it short, nobody has heard of it.
 */
function acknowledge(message: Acknowledgement): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send!(message, undefined, {}, (error) => (error === null ? resolve() : reject(error)));
  });
}

async function acceptAndRecord(scene: Scene): Promise<never> {
  const ids = createIds(systemClock, systemRandom);
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
    await scene.store.acceptEvents(events);
    await acknowledge({ accepted: events.map(({ id }) => id), recorded: [] });
    const results = events.map((event) => result(event.deliveries[0]!.id, 0, succeed()));
    await scene.record(...results);
    await acknowledge({ accepted: [], recorded: results.map(({ id }) => id) });
  }
}

const store = await openSqliteStore({ dataDir, masterKey: MASTER_KEY, random: systemRandom, diskReserveBytes: 0 });
// Several at a time, so that the kill finds transactions in every state.
await Promise.all([1, 2, 3].map(() => acceptAndRecord(new Scene(store))));
