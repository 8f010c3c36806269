// /v1/cluster: the nodes that share the work.
import { present } from '../output/present.ts';
import type { ApiApp } from '../route-config.ts';
import { cluster } from '../schemas/cluster.ts';
import type { ApiServices } from '../services.ts';

export function addClusterRoutes(app: ApiApp, { readCluster }: ApiServices): void {
  app.get('/v1/cluster', reading, async () => {
    const { nodes, shardsFree, backlog } = await readCluster();
    return { data: nodes.map((node) => present(node)), shards_free: shardsFree, backlog };
  });
}

const reading = {
  schema: {
    tags: ['Operations'],
    operationId: 'readCluster',
    summary: 'List the nodes of the cluster, and the work they share',
    description: 'With the embedded store there is one, which owns every shard.',
    response: { 200: cluster },
  },
  config: { scope: 'admin', errors: [] },
} as const;
