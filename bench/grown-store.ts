// Stores with a long history, for what must be as fast there as on a young one: 200 destinations, of which the first
// two are paused and have their deliveries waiting. The history is written by SQL, see fill-deliveries.ts and
// fill-tables.ts.
import type { Bench } from './bench.ts';
import { growHistory } from './fill-deliveries.ts';
import { growTables } from './fill-tables.ts';
import { DELIVERIES_PER_CHUNK } from './history.ts';
import type { Service } from './service.ts';
import { fillStoreFile, readRecipients } from './store-file.ts';
import { bodyOf } from './cases/throughput.ts';

const DESTINATIONS = 200;
const WAITING = ['pending', 'retrying'] as const;
export const GROWN_SETTINGS = { REACHABILITY_CHECK: 'off' };

/** A number of deliveries that a store can be grown to, about `deliveries`, less of it in a quick run. */
export function grownSize(bench: Bench, deliveries: number): number {
  const sized = Math.max(DELIVERIES_PER_CHUNK, bench.sized(deliveries));
  return Math.round(sized / DELIVERIES_PER_CHUNK) * DELIVERIES_PER_CHUNK;
}

/** A stopped service with destinations, and nothing delivered yet: to be grown, and started. */
export async function createGrowing(bench: Bench): Promise<Service> {
  const service = await bench.service({ settings: GROWN_SETTINGS });
  for (let i = 0; i < DESTINATIONS; i++) {
    const id = await service.subscribe(`${bench.receiverUrl}/ok/${i}`, 'history.*');
    if (i < WAITING.length) await service.call('PATCH', `/v1/destinations/${id}`, { status: 'paused' });
  }
  await service.signal('SIGTERM');
  return service;
}

/** From `from` deliveries to `to`, of what will be `total` in the end. */
export async function grow(service: Service, range: { from: number; to: number; total: number }): Promise<void> {
  const { database, dataDir } = service;
  if (database !== null) return growTables(database.url, { waiting: WAITING, body: bodyOf(), ...range });
  fillStoreFile(dataDir, (db) => {
    const recipients = readRecipients(db).map((recipient, i) => {
      return WAITING[i] === undefined ? recipient : { ...recipient, waits: WAITING[i] };
    });
    growHistory(db, { recipients, body: bodyOf(), ...range });
  });
}
