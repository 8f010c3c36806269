// API keys. A revoked key's row is gone: what is here is what authenticates.
import type { ApiKey } from '../../../../model/api-key.ts';
import { idBytes } from '../../../../model/id.ts';
import { toApiKey, type ApiKeyRow } from '../../../rows/api-key-rows.ts';
import { ID_BYTES_MAX } from '../../../rows/codec.ts';
import type { ChangeKeys, Read, ReadContext, Write } from '../../context.ts';
import { statement } from '../../file/database.ts';
import { raiseAuth } from './environments.ts';

// Keys are few (an operator makes them one by one), so a list walks them all, newest first.
const SELECT_BELOW = statement<ApiKeyRow>(`
  SELECT k.id, k.environment, e.mode, k.name, k.scopes, k.prefix, k.last4, k.hash,
         k.created_at, k.expires_at, k.last_used_at
  FROM api_keys k JOIN environments e ON e.id = k.environment
  WHERE k.id < ?
  ORDER BY k.id DESC`);

const SELECT_ENVIRONMENT = statement<{ environment: number }>('SELECT environment FROM api_keys WHERE id = ?');

const SELECT_HAD_KEYS = statement<{ had: number }>(
  'SELECT EXISTS (SELECT 1 FROM environments WHERE auth_version > 0) AS had',
);

const INSERT = statement(`
  INSERT INTO api_keys (id, environment, name, scopes, prefix, last4, hash, created_at, expires_at, last_used_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);

const TOUCH = statement('UPDATE api_keys SET last_used_at = max(ifnull(last_used_at, 0), ?) WHERE id = ?');

const DELETE = statement('DELETE FROM api_keys WHERE id = ?');

export const readApiKeys: Read<'readApiKeys'> = ({ sql, read }) =>
  read(() => sql(SELECT_BELOW).all(ID_BYTES_MAX).map(toApiKey));

export const listApiKeys: Read<'listApiKeys'> = ({ sql }, { environments, before, limit }) => {
  const rows: ApiKey[] = [];
  for (const row of sql(SELECT_BELOW).iterate(before === null ? ID_BYTES_MAX : idBytes(before))) {
    if (!environments.includes(row.environment)) continue;
    if (rows.length === limit) return { rows, next: rows.at(-1)!.id };
    rows.push(toApiKey(row));
  }
  return { rows, next: null };
};

export const createApiKey: ChangeKeys<'createApiKey'> = ({ sql, write, diskReserve }, key) => {
  diskReserve.assertRoom();
  write(() => insertKey(sql, key));
};

export const createFirstApiKeys: Write<'createFirstApiKeys'> = ({ sql, write, diskReserve }, keys) => {
  diskReserve.assertRoom();
  return write(() => {
    if (sql(SELECT_HAD_KEYS).get()!.had === 1) return false;
    for (const key of keys) insertKey(sql, key);
    return true;
  });
};

export const revokeApiKey: ChangeKeys<'revokeApiKey'> = ({ sql, write }, { environments, id }) =>
  write(() => {
    const row = sql(SELECT_ENVIRONMENT).get(idBytes(id));
    if (row === undefined || !environments.includes(row.environment)) return false;
    sql(DELETE).run(idBytes(id));
    raiseAuth(sql, row.environment);
    return true;
  });

export const touchApiKeys: Write<'touchApiKeys'> = ({ sql, write }, uses) =>
  write(() => {
    for (const use of uses) sql(TOUCH).run(use.lastUsedAt, idBytes(use.id));
  });

function insertKey(sql: ReadContext['sql'], key: ApiKey): void {
  const { environment, name, prefix, last4, hash, createdAt, expiresAt, lastUsedAt } = key;
  const scopes = JSON.stringify(key.scopes);
  sql(INSERT).run(idBytes(key.id), environment, name, scopes, prefix, last4, hash, createdAt, expiresAt, lastUsedAt);
  raiseAuth(sql, environment);
}
