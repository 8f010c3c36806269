// The nodes of a cluster and who owns which shard. Everything hangs on a node's own row: renewing its lease and
// taking shards change it first, and removing a dead node deletes it, so that these take turns. A node that was
// removed finds no row, whatever it believes; the shards it had were freed in the transaction that removed it.
import { SHARD_COUNT, formatId, idBytes, type NodeId } from '../../../../model/id.ts';
import type { ClusterNode, ClusterView } from '../../../cluster-store.ts';
import type { OfCluster } from '../../context.ts';
import { statement } from '../../wire/statement.ts';
import type { Tx } from '../../wire/transaction.ts';
import { takeTurnToServe } from '../../wire/turns.ts';
import { decodeText, encodeArray, encodeText } from '../../wire/values.ts';
import { SELECT_CHANGED_ENVIRONMENTS } from './barriers.ts';

// The one place where the database's clock counts: of a distributed one the coordinator's, where these tables are.
export const NOW = '(extract(epoch FROM statement_timestamp()) * 1000)::int8';

const UPSERT = statement<never>(
  'nodes_upsert',
  `INSERT INTO nodes (id, name, version, address, lease_ms, started_at, heartbeat_at)
   VALUES ($1, $2, $3, $4, $5::int4, ${NOW}, ${NOW})
   ON CONFLICT (id) DO UPDATE SET heartbeat_at = excluded.heartbeat_at, is_leaving = false`,
);

const RENEW = statement<{ now: number }>(
  'nodes_renew',
  `UPDATE nodes SET heartbeat_at = ${NOW} WHERE id = $1 RETURNING heartbeat_at AS now`,
);

const SET_LEAVING = statement<never>('nodes_set_leaving', 'UPDATE nodes SET is_leaving = true WHERE id = $1');

const DELETE_EXPIRED = statement<{ id: Uint8Array }>(
  'nodes_delete_expired',
  `DELETE FROM nodes WHERE heartbeat_at + lease_ms < ${NOW} RETURNING id`,
);

const DELETE = statement<never>('nodes_delete', 'DELETE FROM nodes WHERE id = $1');

type NodeRow = {
  id: Uint8Array;
  name: string;
  version: string;
  address: string;
  lease_ms: number;
  started_at: number;
  heartbeat_at: number;
  is_leaving: boolean;
};

const SELECT_NODES = statement<NodeRow>(
  'nodes_all',
  'SELECT id, name, version, address, lease_ms, started_at, heartbeat_at, is_leaving FROM nodes ORDER BY id',
);

const SELECT_TIME = statement<{ now: number }>('nodes_time', `SELECT ${NOW} AS now`);

const SELECT_OWNERS = statement<{ shard: number; node: Uint8Array | null }>(
  'shards_owners',
  'SELECT shard, node FROM shards',
);

const TAKE = statement<{ shard: number }>(
  'shards_take',
  `UPDATE shards SET node = $1, epoch = epoch + 1 WHERE shard = ANY ($2::int2[]) AND node IS NULL RETURNING shard`,
);

const OWNS = statement<unknown>('shards_owns', 'SELECT 1 FROM shards WHERE shard = $1::int2 AND node = $2');

const FREE = statement<never>(
  'shards_free',
  'UPDATE shards SET node = NULL WHERE shard = ANY ($2::int2[]) AND node = $1',
);

const FREE_ALL = statement<never>('shards_free_all', 'UPDATE shards SET node = NULL WHERE node = ANY ($1::uuid[])');

export const addNode: OfCluster<'addNode'> = ({ write }, { id, name, version, address, leaseMs }) =>
  write(async (tx) => {
    await takeTurnToServe(tx);
    await tx.change(UPSERT, [idBytes(id), encodeText(name), version, address, leaseMs]);
  });

export const renewLease: OfCluster<'renewLease'> = ({ write }, id) =>
  write(async (tx) => {
    const [renewed] = await tx.run(RENEW, [idBytes(id)]);
    if (renewed === undefined) return tx.refuse(null);
    const [view, changed] = await Promise.all([
      readView(tx, renewed.now),
      tx.run(SELECT_CHANGED_ENVIRONMENTS, [idBytes(id)]),
    ]);
    return { ...view, changedEnvironments: changed.map(({ environment }) => environment) };
  });

export const removeExpired: OfCluster<'removeExpired'> = ({ write }) =>
  write(async (tx) => {
    const removed = await deleteExpired(tx);
    return removed.length === 0 ? tx.refuse([]) : removed;
  });

export const takeShards: OfCluster<'takeShards'> = ({ write }, { node, shards }) =>
  write(async (tx) => {
    // Holds the node's row: nobody can remove it until what it takes is committed.
    const [renewed] = await tx.run(RENEW, [idBytes(node)]);
    if (renewed === undefined) return tx.refuse([]);
    const taken = await tx.run(TAKE, [idBytes(node), encodeArray('int2', shards)]);
    // Whoever wrongly believes that a shard is its own sends beside its owner.
    if (taken.length > 0) tx.provedBy(OWNS, [taken[0]!.shard, idBytes(node)]);
    return taken.map(({ shard }) => shard);
  });

export const freeShards: OfCluster<'freeShards'> = ({ write }, { node, shards }) =>
  write(async (tx) => void (await tx.change(FREE, [idBytes(node), encodeArray('int2', shards)])));

export const setLeaving: OfCluster<'setLeaving'> = ({ write }, id) =>
  write(async (tx) => void (await tx.change(SET_LEAVING, [idBytes(id)])));

export const removeNode: OfCluster<'removeNode'> = ({ write }, id) =>
  write(async (tx) => {
    await Promise.all([tx.change(DELETE, [idBytes(id)]), tx.change(FREE_ALL, [encodeArray('uuid', [idBytes(id)])])]);
  });

export const readCluster: OfCluster<'readCluster'> = ({ read }) =>
  read(async (tx) => {
    const [time] = await tx.run(SELECT_TIME);
    return readView(tx, time!.now);
  });

/** Who is left when those are gone whose lease has run out: one of them that wakes up begins anew. */
export async function keepLiving(tx: Tx): Promise<ClusterNode[]> {
  await deleteExpired(tx);
  return (await tx.run(SELECT_NODES)).map(toNode);
}

async function deleteExpired(tx: Tx): Promise<NodeId[]> {
  const removed = await tx.run(DELETE_EXPIRED);
  const ids = removed.map(({ id }) => id);
  if (ids.length > 0) await tx.change(FREE_ALL, [encodeArray('uuid', ids)]);
  return ids.map((id) => formatId('nod', id));
}

async function readView(tx: Tx, now: number): Promise<ClusterView> {
  const [nodes, rows] = await Promise.all([tx.run(SELECT_NODES), tx.run(SELECT_OWNERS)]);
  const owners: (NodeId | null)[] = Array.from({ length: SHARD_COUNT }, () => null);
  for (const { shard, node } of rows) owners[shard] = node === null ? null : formatId('nod', node);
  return { now, nodes: nodes.map(toNode), owners };
}

function toNode(row: NodeRow): ClusterNode {
  return {
    id: formatId('nod', row.id),
    name: decodeText(row.name)!,
    version: row.version,
    address: row.address,
    leaseMs: row.lease_ms,
    startedAt: row.started_at,
    heartbeatAt: row.heartbeat_at,
    isLeaving: row.is_leaving,
  };
}
