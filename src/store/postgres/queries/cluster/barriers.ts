// Changes of destinations wait for the owner of their shard. Each leaves a row in its own transaction, which the owner
// removes when what it goes by is at least as new. Whoever made the change answers when no row is left.
import { formatId, idBytes, idShard, type DestinationId } from '../../../../model/id.ts';
import type { OfCluster } from '../../context.ts';
import { statement } from '../../wire/statement.ts';
import type { Tx } from '../../wire/transaction.ts';

const INSERT = statement<never>(
  'barriers_insert',
  `INSERT INTO barriers (shard, destination_id, environment, version) VALUES ($1::int2, $2, $3::int4, $4::int8)`,
);

// Only by the owner's own word: one that lost its shard without knowing it must not speak for its successor. That one
// loads the configuration after it took the shard, and so has every change whose row was here before.
const ACKNOWLEDGE = statement<{ destination_id: Uint8Array }>(
  'barriers_acknowledge',
  `DELETE FROM barriers b USING shards s
   WHERE s.shard = b.shard AND s.node = $1 AND b.environment = $2::int4 AND b.version <= $3::int8
   RETURNING b.destination_id`,
);

const SELECT_ONE = statement<{ version: number }>(
  'barriers_one',
  'SELECT version FROM barriers WHERE destination_id = $1 LIMIT 1',
);

export const SELECT_CHANGED_ENVIRONMENTS = statement<{ environment: number }>(
  'barriers_of_node',
  'SELECT DISTINCT b.environment FROM barriers b JOIN shards s ON s.shard = b.shard WHERE s.node = $1',
);

export const acknowledgeChanges: OfCluster<'acknowledgeChanges'> = ({ write }, { node, environment, version }) =>
  write(async (tx) => {
    const rows = await tx.run(ACKNOWLEDGE, [idBytes(node), environment, version]);
    const acknowledged = rows.map((row) => formatId('dst', row.destination_id));
    return acknowledged.length === 0 ? tx.refuse(acknowledged) : acknowledged;
  });

export const isChangeWaiting: OfCluster<'isChangeWaiting'> = ({ read }, id) =>
  read(async (tx) => (await tx.run(SELECT_ONE, [idBytes(id)])).length > 0);

/** In the transaction of a change, which has this version. */
export function leaveBarrier(
  tx: Tx,
  change: { destinationId: DestinationId; environment: number; version: number },
): Promise<number> {
  const { destinationId, environment, version } = change;
  return tx.change(INSERT, [idShard(destinationId), idBytes(destinationId), environment, version]);
}
