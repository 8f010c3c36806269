// Pausing destinations by what came back from them, inside the transaction that records it.
import type { PausedReason } from '../../../../model/destination.ts';
import { formatId, idBytes } from '../../../../model/id.ts';
import type { DestinationId } from '../../../../model/id.ts';
import { pausedReasonCode } from '../../../rows/codec.ts';
import { statement } from '../../wire/statement.ts';
import type { Tx } from '../../wire/transaction.ts';
import { encodeArray } from '../../wire/values.ts';
import { raiseConfig } from './environments.ts';

const SELECT_ACTIVE = statement<{ id: Uint8Array; environment: number }>(
  'destinations_active',
  `SELECT id, environment FROM destinations
   WHERE id = ANY ($1::uuid[]) AND status = 0 AND deleted_at IS NULL ORDER BY environment, id`,
);

const PAUSE = statement<{ id: Uint8Array }>(
  'destinations_pause',
  `UPDATE destinations SET status = 1, paused_reason = $2::int2, version = $3::int8, updated_at = $4::int8
   WHERE id = $1 AND status = 0 AND deleted_at IS NULL
   RETURNING id`,
);

/** Nothing happens to a destination that is paused or deleted already. Returns those that were active. */
export async function pauseDestinations(
  tx: Tx,
  pauses: ReadonlyMap<DestinationId, PausedReason>,
  now: number,
): Promise<DestinationId[]> {
  if (pauses.size === 0) return [];
  const ids = [...pauses.keys()].map((id) => idBytes(id));
  const active = await tx.run(SELECT_ACTIVE, [encodeArray('uuid', ids)]);
  const paused: DestinationId[] = [];
  for (const [environment, rows] of Map.groupBy(active, (row) => row.environment)) {
    // Now nobody else changes this environment's configuration, but somebody may have done so just before.
    const { config_version: version } = await raiseConfig(tx, environment);
    for (const row of rows) {
      const reason = pausedReasonCode.numberOf(pauses.get(formatId('dst', row.id))!);
      const found = await tx.run(PAUSE, [row.id, reason, version, now]);
      paused.push(...found.map(({ id }) => formatId('dst', id)));
    }
  }
  return paused;
}
