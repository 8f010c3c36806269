// A key as programs read it: as in the API, without its text, which is shown once and stored nowhere.
import type { ApiKey } from '../../model/api-key.ts';
import { formatTime, formatTimeOrNull } from '../../model/time.ts';

export type PresentedKey = Pick<ApiKey, 'mode' | 'name' | 'scopes' | 'prefix' | 'last4'> & {
  id: string;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
};

export function presentKey(key: ApiKey): PresentedKey {
  return {
    id: key.id,
    mode: key.mode,
    name: key.name,
    scopes: key.scopes,
    prefix: key.prefix,
    last4: key.last4,
    created_at: formatTime(key.createdAt),
    expires_at: formatTimeOrNull(key.expiresAt),
    last_used_at: formatTimeOrNull(key.lastUsedAt),
  };
}
