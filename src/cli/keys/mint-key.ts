// A new key in the environment of its mode, which the store does not have yet.
import type { ApiKey, Mode, Scope } from '../../model/api-key.ts';
import { systemClock } from '../../runtime/clock.ts';
import { createIds } from '../../runtime/ids.ts';
import { mintApiKey } from '../../runtime/mint-api-key.ts';
import { systemRandom } from '../../runtime/random.ts';
import type { EnvironmentVersions } from '../../store/store.ts';

export type KeyRequest = { mode: Mode; name: string | null; scopes: readonly Scope[]; expiresAt: number | null };

export function mintKey(
  environments: readonly EnvironmentVersions[],
  request: KeyRequest,
): { key: ApiKey; secret: string } {
  const { environment } = environments.find(({ mode }) => mode === request.mode)!;
  const sources = { random: systemRandom, clock: systemClock, ids: createIds(systemClock, systemRandom) };
  return mintApiKey({ ...request, environment }, sources);
}
