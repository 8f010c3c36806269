// Who should own which shard: a pure decision that every node takes alone. All nodes read the same rows of the store,
// so they decide alike without talking; where two of them read different rows, the store lets one node have the shard.
import { SHARD_COUNT, type NodeId } from '../model/id.ts';

type SharesView = {
  me: NodeId;
  /** Nodes that live and are not leaving. A node that is not among them takes nothing. */
  nodes: readonly NodeId[];
  /** By shard, as the store has it; null: free. */
  owners: readonly (NodeId | null)[];
  /** Shards of this node that it is handing over already. */
  giving: ReadonlySet<number>;
  /** Free shards that the node they are meant for has not taken in time. */
  leftOver: ReadonlySet<number>;
  /** Nobody has joined or left for a while: moving shards is worth it. */
  isStable: boolean;
  /** How many shards may be given now. */
  giveMax: number;
};

type Shares = {
  /** Free shards to take now. */
  take: number[];
  /** Own shards to hand over now. */
  give: number[];
};

/**
 * Every node shall have 256/N shards, rounded down or up; the nodes that have most now get the rounding up, so that few
 * shards move. A node within its share neither takes nor gives.
 */
export function planShares(view: SharesView): Shares {
  const { me, nodes, owners, giving, leftOver, isStable, giveMax } = view;
  if (!nodes.includes(me)) return { take: [], give: [] };
  const held = countHeld(nodes, owners);
  const shares = sharesOf(nodes, held);
  const free = shardsWhere(owners, (owner) => owner === null);
  const assigned = assign(free, neediestFirst(nodes, held, shares)).get(me) ?? [];
  const leftByOthers = free.filter((shard) => leftOver.has(shard) && !assigned.includes(shard));
  const mine = shardsWhere(owners, (owner) => owner === me).filter((shard) => !giving.has(shard));
  const excess = isStable ? Math.max(0, mine.length - shares.get(me)!) : 0;
  const count = Math.min(excess, giveMax);
  return { take: [...assigned, ...leftByOthers], give: count === 0 ? [] : mine.slice(-count) };
}

function countHeld(nodes: readonly NodeId[], owners: readonly (NodeId | null)[]): Map<NodeId, number> {
  const held = new Map(nodes.map((node) => [node, 0]));
  for (const owner of owners) {
    // A node that is leaving, or dead and not removed yet, counts for nothing.
    if (owner !== null && held.has(owner)) held.set(owner, held.get(owner)! + 1);
  }
  return held;
}

function sharesOf(nodes: readonly NodeId[], held: ReadonlyMap<NodeId, number>): Map<NodeId, number> {
  const least = Math.floor(SHARD_COUNT / nodes.length);
  const withOneMore = SHARD_COUNT % nodes.length;
  const richestFirst = [...nodes].sort((a, b) => held.get(b)! - held.get(a)! || compare(a, b));
  return new Map(richestFirst.map((node, rank) => [node, rank < withOneMore ? least + 1 : least]));
}

function neediestFirst(nodes: readonly NodeId[], held: ReadonlyMap<NodeId, number>, shares: Map<NodeId, number>) {
  return nodes
    .map((node) => ({ node, needs: shares.get(node)! - held.get(node)! }))
    .filter(({ needs }) => needs > 0)
    .sort((a, b) => b.needs - a.needs || compare(a.node, b.node));
}

/** In turns, so that nodes that join together fill up together. */
function assign(free: readonly number[], needy: { node: NodeId; needs: number }[]): Map<NodeId, number[]> {
  const assigned = new Map<NodeId, number[]>();
  let open = needy.map(({ node, needs }) => ({ node, needs }));
  let turn = 0;
  for (const shard of free) {
    if (open.length === 0) break;
    const taker = open[turn % open.length]!;
    assigned.set(taker.node, [...(assigned.get(taker.node) ?? []), shard]);
    taker.needs--;
    if (taker.needs === 0) open = open.filter((one) => one !== taker);
    else turn++;
  }
  return assigned;
}

function shardsWhere(owners: readonly (NodeId | null)[], holds: (owner: NodeId | null) => boolean): number[] {
  return owners.flatMap((owner, shard) => (holds(owner) ? [shard] : []));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
