// The signing keys of destinations: rotating one, and ending an old one before its time.
import type { SigningKey } from '../../../../model/destination.ts';
import { idBytes, type DestinationId } from '../../../../model/id.ts';
import type { Sealer } from '../../../../runtime/sealer.ts';
import { toSigningKeys, type SigningKeyRow } from '../../../rows/destination-rows.ts';
import type { ReadContext, Write } from '../../context.ts';
import { statement } from '../../file/database.ts';
import { raiseConfig } from './environments.ts';

type Sql = ReadContext['sql'];

const SELECT_LIVE = statement<{ key: number }>(
  'SELECT key FROM destinations WHERE id = ? AND environment = ? AND deleted_at IS NULL',
);

const SELECT_KEYS = statement<SigningKeyRow>(`
  SELECT id, secret, created_at, expires_at FROM signing_keys WHERE destination = ? ORDER BY id DESC`);

const INSERT = statement(
  'INSERT INTO signing_keys (destination, id, secret, created_at, expires_at) VALUES (?, ?, ?, ?, ?)',
);

const SET_EXPIRY = statement('UPDATE signing_keys SET expires_at = ? WHERE destination = ? AND id = ?');
const DELETE_ONE = statement('DELETE FROM signing_keys WHERE destination = ? AND id = ?');
export const DELETE_KEYS = statement('DELETE FROM signing_keys WHERE destination = ?');

/** A change that touches nothing of the destination but what hangs on it. */
export const STAMP_DESTINATION = statement('UPDATE destinations SET version = ? WHERE key = ?');

/** Null: the environment has none of this id, or it is deleted. */
export function findLiveKey(sql: Sql, environment: number, id: DestinationId): number | null {
  return sql(SELECT_LIVE).get(idBytes(id), environment)?.key ?? null;
}

/** Newest first. */
export function readKeys(sql: Sql, destination: number, sealer: Sealer): SigningKey[] {
  return toSigningKeys(sql(SELECT_KEYS).all(destination), sealer);
}

export function insertKey(sql: Sql, destination: number, key: SigningKey, sealer: Sealer): void {
  const secret = sealer.seal(key.secret, `secret of ${key.id}`);
  sql(INSERT).run(destination, idBytes(key.id), secret, key.createdAt, key.expiresAt);
}

export const rotateSigningKey: Write<'rotateSigningKey'> = (context, request) => {
  const { sql, write, sealer, diskReserve } = context;
  const { environment, id, key, previousExpiresAt, now } = request;
  diskReserve.assertRoom();
  return write(() => {
    const destination = findLiveKey(sql, environment, id);
    if (destination === null) return { result: 'not_found' };
    const all = readKeys(sql, destination, sealer);
    const [newest, ...older] = all;
    const until = Math.max(0, ...older.map((old) => old.expiresAt ?? 0));
    if (until > now) return { result: 'in_progress', until };
    // Without an overlap the previous key goes at once: a node whose clock is behind would still sign with it, and take
    // it for an overlap under way.
    const hasOverlap = previousExpiresAt > now;
    for (const ended of hasOverlap ? older : all) sql(DELETE_ONE).run(destination, idBytes(ended.id));
    if (hasOverlap && newest !== undefined) sql(SET_EXPIRY).run(previousExpiresAt, destination, idBytes(newest.id));
    insertKey(sql, destination, key, sealer);
    sql(STAMP_DESTINATION).run(raiseConfig(sql, environment), destination);
    return { result: 'rotated' };
  });
};

export const endSigningKey: Write<'endSigningKey'> = ({ sql, write, sealer }, { environment, id, keyId, now }) =>
  write(() => {
    const destination = findLiveKey(sql, environment, id);
    if (destination === null) return 'not_found';
    const all = readKeys(sql, destination, sealer);
    if (all[0]?.id === keyId) return 'newest';
    const isThere = all.some((key) => key.id === keyId && (key.expiresAt ?? Infinity) > now);
    if (!isThere) return 'key_not_found';
    sql(DELETE_ONE).run(destination, idBytes(keyId));
    sql(STAMP_DESTINATION).run(raiseConfig(sql, environment), destination);
    return 'ended';
  });
