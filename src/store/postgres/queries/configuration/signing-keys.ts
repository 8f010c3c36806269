// Rotating a destination's signing key, and ending an old one before its time.
import { idBytes } from '../../../../model/id.ts';
import type { Write } from '../../context.ts';
import { statement } from '../../wire/statement.ts';
import { leaveBarrier } from '../cluster/barriers.ts';
import { SELECT_DESTINATION, STAMP_DESTINATION, insertKey, provedByVersion, readKeys } from './destination-rows.ts';
import { raiseConfig } from './environments.ts';

const SET_KEY_EXPIRY = statement<never>(
  'signing_keys_set_expiry',
  'UPDATE signing_keys SET expires_at = $3::int8 WHERE destination_id = $1 AND id = $2',
);

const DELETE_KEY = statement<never>(
  'signing_keys_delete',
  'DELETE FROM signing_keys WHERE destination_id = $1 AND id = $2',
);

export const rotateSigningKey: Write<'rotateSigningKey'> = ({ write, sealer }, request) => {
  const { environment, id, key, previousExpiresAt, now } = request;
  return write(async (tx) => {
    const { config_version: version } = await raiseConfig(tx, environment);
    const found = tx.run(SELECT_DESTINATION, [idBytes(id), environment]);
    const all = await readKeys(tx, id, sealer);
    const [newest, ...older] = all;
    if ((await found).length === 0) return tx.refuse({ result: 'not_found' });
    const until = Math.max(0, ...older.map((old) => old.expiresAt ?? 0));
    if (until > now) return tx.refuse({ result: 'in_progress', until });
    // Without an overlap the previous key goes at once: a node whose clock is behind would still sign with it, and take
    // it for an overlap under way.
    const hasOverlap = previousExpiresAt > now;
    for (const ended of hasOverlap ? older : all) void tx.change(DELETE_KEY, [idBytes(id), idBytes(ended.id)]);
    if (hasOverlap && newest !== undefined) {
      void tx.change(SET_KEY_EXPIRY, [idBytes(id), idBytes(newest.id), previousExpiresAt]);
    }
    void insertKey(tx, id, key, sealer);
    void tx.change(STAMP_DESTINATION, [idBytes(id), version]);
    void leaveBarrier(tx, { destinationId: id, environment, version });
    provedByVersion(tx, id, version);
    return { result: 'rotated' };
  });
};

export const endSigningKey: Write<'endSigningKey'> = ({ write, sealer }, { environment, id, keyId, now }) =>
  write(async (tx) => {
    const { config_version: version } = await raiseConfig(tx, environment);
    const found = tx.run(SELECT_DESTINATION, [idBytes(id), environment]);
    const all = await readKeys(tx, id, sealer);
    if ((await found).length === 0) return tx.refuse('not_found');
    if (all[0]?.id === keyId) return tx.refuse('newest');
    const isThere = all.some((key) => key.id === keyId && (key.expiresAt ?? Infinity) > now);
    if (!isThere) return tx.refuse('key_not_found');
    void tx.change(DELETE_KEY, [idBytes(id), idBytes(keyId)]);
    void tx.change(STAMP_DESTINATION, [idBytes(id), version]);
    void leaveBarrier(tx, { destinationId: id, environment, version });
    provedByVersion(tx, id, version);
    return 'ended';
  });
