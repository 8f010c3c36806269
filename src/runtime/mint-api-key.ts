// Makes API keys.
import { hash } from 'node:crypto';
import { formatApiKey, type ApiKey, type Mode, type Scope } from '../model/api-key.ts';
import type { Clock } from './clock.ts';
import type { Ids } from './ids.ts';
import { randomDigits, type Random } from './random.ts';

const RANDOM_DIGITS = 30;

/** A new key and its text, which is shown once and stored nowhere. */
export function mintApiKey(
  request: { mode: Mode; environment: number; name: string | null; scopes: readonly Scope[]; expiresAt: number | null },
  { random, clock, ids }: { random: Random; clock: Clock; ids: Ids },
): { key: ApiKey; secret: string } {
  const secret = formatApiKey(request.mode, randomDigits(random, { count: RANDOM_DIGITS, base: 62 }));
  const key: ApiKey = {
    ...request,
    scopes: [...request.scopes],
    id: ids.next('key'),
    prefix: `pr_${request.mode}_`,
    last4: secret.slice(-4),
    hash: hash('sha256', secret, 'buffer'),
    createdAt: clock.now(),
    lastUsedAt: null,
  };
  return { key, secret };
}
