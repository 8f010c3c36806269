// API keys. A revoked key's row is gone: what is here is what authenticates.
import type { ApiKey } from '../../../../model/api-key.ts';
import { idBytes } from '../../../../model/id.ts';
import type { ApiKeyId } from '../../../../model/id.ts';
import type { Page, PageRequest } from '../../../store.ts';
import { toApiKey } from '../../../rows/api-key-rows.ts';
import type { ApiKeyRow } from '../../../rows/api-key-rows.ts';
import { ID_BYTES_MAX } from '../../../rows/codec.ts';
import type { ReadContext, WriteContext } from '../../context.ts';
import { prepare } from '../../file/database.ts';
import { createEnvironmentCounters } from './environments.ts';

// Keys are few (an operator makes them one by one), so a list walks them all, newest first.
const SELECT_BELOW = `
  SELECT k.id, k.environment, e.mode, k.name, k.scopes, k.prefix, k.last4, k.hash,
         k.created_at, k.expires_at, k.last_used_at
  FROM api_keys k JOIN environments e ON e.id = k.environment
  WHERE k.id < ?
  ORDER BY k.id DESC`;

const INSERT = `
  INSERT INTO api_keys (id, environment, name, scopes, prefix, last4, hash, created_at, expires_at, last_used_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const TOUCH = 'UPDATE api_keys SET last_used_at = max(ifnull(last_used_at, 0), ?) WHERE id = ?';

const SELECT_HAD_KEYS = 'SELECT EXISTS (SELECT 1 FROM environments WHERE auth_version > 0) AS had';

export function createApiKeyReads({ db, read }: ReadContext) {
  const selectBelow = prepare<ApiKeyRow>(db, SELECT_BELOW);
  return {
    readApiKeys: (): ApiKey[] => read(() => selectBelow.all(ID_BYTES_MAX).map(toApiKey)),

    listApiKeys(request: { environments: number[] } & PageRequest<ApiKeyId>): Page<ApiKey, ApiKeyId> {
      const { environments, before, limit } = request;
      const rows: ApiKey[] = [];
      for (const row of selectBelow.iterate(before === null ? ID_BYTES_MAX : idBytes(before))) {
        if (!environments.includes(row.environment)) continue;
        if (rows.length === limit) return { rows, next: rows.at(-1)!.id };
        rows.push(toApiKey(row));
      }
      return { rows, next: null };
    },
  };
}

export function createApiKeyWrites({ db, write, diskReserve }: Pick<WriteContext, 'db' | 'write' | 'diskReserve'>) {
  const environments = createEnvironmentCounters(db);
  const insert = prepare(db, INSERT);
  const selectHadKeys = prepare<{ had: number }>(db, SELECT_HAD_KEYS);
  const touch = prepare(db, TOUCH);
  const remove = prepare(db, 'DELETE FROM api_keys WHERE id = ?');
  const selectEnvironment = prepare<{ environment: number }>(db, 'SELECT environment FROM api_keys WHERE id = ?');
  const insertKey = (key: ApiKey): void => {
    const { environment, name, prefix, last4, hash, createdAt, expiresAt, lastUsedAt } = key;
    const scopes = JSON.stringify(key.scopes);
    insert.run(idBytes(key.id), environment, name, scopes, prefix, last4, hash, createdAt, expiresAt, lastUsedAt);
    environments.raiseAuth(environment);
  };
  return {
    createApiKey(key: ApiKey): void {
      diskReserve.assertRoom();
      write(() => insertKey(key));
    },

    createFirstApiKeys(keys: ApiKey[]): boolean {
      diskReserve.assertRoom();
      return write(() => {
        if (selectHadKeys.get()!.had === 1) return false;
        for (const key of keys) insertKey(key);
        return true;
      });
    },

    revokeApiKey({ environments: allowed, id }: { environments: number[]; id: ApiKeyId }): boolean {
      return write(() => {
        const row = selectEnvironment.get(idBytes(id));
        if (row === undefined || !allowed.includes(row.environment)) return false;
        remove.run(idBytes(id));
        environments.raiseAuth(row.environment);
        return true;
      });
    },

    touchApiKeys(uses: { id: ApiKeyId; lastUsedAt: number }[]): void {
      write(() => {
        for (const use of uses) touch.run(use.lastUsedAt, idBytes(use.id));
      });
    },
  };
}
