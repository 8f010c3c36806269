// The cluster of the simulations keeps what store.ts promises of one, so that what is shown on it holds on PostgreSQL.
import { systemClock } from '../../src/runtime/clock.ts';
import { createIds } from '../../src/runtime/ids.ts';
import { SeededRandom } from '../sim/seeded-random.ts';
import { testCluster } from '../store/conformance/cluster.ts';
import { LIVE } from '../store/scene.ts';
import { MemoryCluster } from './memory-cluster.ts';

testCluster('the cluster in memory', async () => {
  const random = new SeededRandom(1);
  const ids = createIds(systemClock, random);
  const memory = new MemoryCluster(systemClock, random);
  memory.latencyMaxMs = 1;
  const join = () => memory.storeFor({ isAlive: () => true, whenAwake: async () => undefined });
  return {
    cluster: join(),
    joinOther: async () => join(),
    async createDestination() {
      memory.raiseVersion(LIVE);
      return ids.next('dst');
    },
    pauseDestination: async (destinationId) => memory.changeDestination({ destinationId, environment: LIVE }),
    deleteDestination: async (destinationId) => memory.changeDestination({ destinationId, environment: LIVE }),
    configVersion: async () => memory.versionOf(LIVE),
  };
});
