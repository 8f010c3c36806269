// API keys between rows and values.
import type { ApiKey, Scope } from '../../model/api-key.ts';
import { formatId } from '../../model/id.ts';
import { modeCode } from './codec.ts';

export type ApiKeyRow = {
  id: Uint8Array;
  environment: number;
  mode: number;
  name: string | null;
  scopes: string;
  prefix: string;
  last4: string;
  hash: Uint8Array;
  created_at: number;
  expires_at: number | null;
  last_used_at: number | null;
};

export function toApiKey(row: ApiKeyRow): ApiKey {
  return {
    id: formatId('key', row.id),
    environment: row.environment,
    mode: modeCode.nameOf(row.mode),
    name: row.name,
    scopes: JSON.parse(row.scopes) as Scope[],
    prefix: row.prefix,
    last4: row.last4,
    hash: row.hash,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
  };
}
