// What reaches outside the machine: attempts, and probes of URLs that are to become destinations. The service is handed
// one, so that in a simulation the receivers are the network.
import { createAttempter, type Attempter } from '../attempt/attempter.ts';
import { createGuard, type Guard } from '../attempt/guard.ts';
import { createResolver } from '../attempt/resolver.ts';
import { VERSION, type Settings } from '../config.ts';
import type { Clock } from '../runtime/clock.ts';

export type Network = Pick<Attempter, 'perform' | 'probe' | 'close'> & Pick<Guard, 'checkUrl'>;

export function createNetwork(options: {
  settings: Pick<Settings, 'TEST_SUBNETS' | 'ALLOW_SUBNETS' | 'REACHABILITY_PER_MINUTE'>;
  clock: Clock;
  onFault: (error: unknown) => void;
}): Network & Pick<Guard, 'setOwnAddress'> {
  const { settings, clock, onFault } = options;
  const guard = createGuard({ testSubnets: settings.TEST_SUBNETS, allowSubnets: settings.ALLOW_SUBNETS });
  const probesPerMinute = settings.REACHABILITY_PER_MINUTE;
  const resolver = createResolver({ clock });
  const attempter = createAttempter({ guard, resolver, clock, version: VERSION, probesPerMinute, onFault });
  return { ...attempter, ...guard };
}
