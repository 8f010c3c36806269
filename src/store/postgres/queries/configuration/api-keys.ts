// API keys. A revoked key's row is gone: what is here is what authenticates.
import type { ApiKey } from '../../../../model/api-key.ts';
import { idBytes } from '../../../../model/id.ts';
import { toApiKey, type ApiKeyRow } from '../../../rows/api-key-rows.ts';
import { ID_BYTES_MAX } from '../../../rows/codec.ts';
import { toPage } from '../../../rows/page.ts';
import type { Configure, Read, Write } from '../../context.ts';
import { statement } from '../../wire/statement.ts';
import type { Tx } from '../../wire/transaction.ts';
import { takeTurnToServe } from '../../wire/turns.ts';
import { decodeText, encodeArray, encodeText } from '../../wire/values.ts';
import { raiseAuth } from './environments.ts';

const COLUMNS = `
  k.id, k.environment, e.mode, k.name, k.scopes, k.prefix, k.last4, k.hash, k.created_at, k.expires_at, k.last_used_at`;

const SELECT_ALL = statement<ApiKeyRow>(
  'api_keys_all',
  `SELECT ${COLUMNS} FROM api_keys k JOIN environments e ON e.id = k.environment ORDER BY k.id DESC`,
);

// Keys are few: an operator makes them one by one.
const SELECT_PAGE = statement<ApiKeyRow>(
  'api_keys_page',
  `SELECT ${COLUMNS} FROM api_keys k JOIN environments e ON e.id = k.environment
   WHERE k.id < $1 AND k.environment = ANY ($2::int4[]) ORDER BY k.id DESC LIMIT $3::int4`,
);

const INSERT = statement<never>(
  'api_keys_insert',
  `INSERT INTO api_keys (id, environment, name, scopes, prefix, last4, hash, created_at, expires_at, last_used_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
);

const DELETE = statement<{ environment: number }>(
  'api_keys_delete',
  'DELETE FROM api_keys WHERE id = $1 AND environment = ANY ($2::int4[]) RETURNING environment',
);

const IS_THERE = statement<unknown>('api_keys_is_there', 'SELECT 1 FROM api_keys WHERE id = $1');

const IS_GONE = statement<unknown>(
  'api_keys_is_gone',
  'SELECT 1 WHERE NOT EXISTS (SELECT FROM api_keys WHERE id = $1)',
);

// Of several reports about one key the latest counts.
const TOUCH = statement<never>(
  'api_keys_touch',
  `UPDATE api_keys k SET last_used_at = greatest(k.last_used_at, u.last_used_at)
   FROM (SELECT id, max(last_used_at) AS last_used_at
         FROM unnest($1::uuid[], $2::int8[]) AS r (id, last_used_at) GROUP BY id) AS u
   WHERE k.id = u.id`,
);

const SELECT_HAD_KEYS = statement<{ had: boolean }>(
  'api_keys_had',
  'SELECT EXISTS (SELECT 1 FROM environments WHERE auth_version > 0) AS had',
);

export const readApiKeys: Read<'readApiKeys'> = ({ read }) => read(async (tx) => (await tx.run(SELECT_ALL)).map(toKey));

export const listApiKeys: Read<'listApiKeys'> = ({ read }, { environments, before, limit }) =>
  read(async (tx) => {
    const below = before === null ? ID_BYTES_MAX : idBytes(before);
    const found = await tx.run(SELECT_PAGE, [below, `{${environments.join(',')}}`, limit + 1]);
    return toPage(found, limit, toKey);
  });

export const createApiKey: Configure<'createApiKey'> = ({ write }, key) => write((tx) => insertKey(tx, key));

export const createFirstApiKeys: Write<'createFirstApiKeys'> = ({ write }, keys) =>
  write(async (tx) => {
    await takeTurnToServe(tx);
    const [{ had }] = (await tx.run(SELECT_HAD_KEYS)) as [{ had: boolean }];
    if (had) return tx.refuse(false);
    for (const key of keys) await insertKey(tx, key);
    return true;
  });

export const revokeApiKey: Configure<'revokeApiKey'> = ({ write }, { environments, id }) =>
  write(async (tx) => {
    const [row] = await tx.run(DELETE, [idBytes(id), `{${environments.join(',')}}`]);
    if (row === undefined) return tx.refuse(false);
    await raiseAuth(tx, row.environment);
    tx.provedBy(IS_GONE, [idBytes(id)]);
    return true;
  });

export const touchApiKeys: Write<'touchApiKeys'> = ({ write }, uses) =>
  write(async (tx) => {
    const ids = uses.map(({ id }) => idBytes(id));
    const times = uses.map(({ lastUsedAt }) => lastUsedAt);
    await tx.change(TOUCH, [encodeArray('uuid', ids), encodeArray('int8', times)]);
  });

async function insertKey(tx: Tx, key: ApiKey): Promise<void> {
  const { environment, prefix, last4, hash, createdAt, expiresAt, lastUsedAt } = key;
  const scopes = JSON.stringify(key.scopes);
  const name = encodeText(key.name);
  const values = [environment, name, scopes, prefix, last4, hash, createdAt, expiresAt, lastUsedAt];
  await Promise.all([tx.change(INSERT, [idBytes(key.id), ...values]), raiseAuth(tx, environment)]);
  tx.provedBy(IS_THERE, [idBytes(key.id)]);
}

function toKey(row: ApiKeyRow): ApiKey {
  return toApiKey({ ...row, name: decodeText(row.name) });
}
