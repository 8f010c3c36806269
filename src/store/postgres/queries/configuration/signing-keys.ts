// Rotating a destination's signing key, and ending an old one before its time.
import { idBytes } from '../../../../model/id.ts';
import type { Write } from '../../context.ts';
import { leaveBarrier } from '../cluster/barriers.ts';
import {
  SELECT_DESTINATION,
  STAMP_DESTINATION,
  deleteKey,
  insertKey,
  provedByVersion,
  readKeys,
  setKeyExpiry,
} from './destination-rows.ts';
import { raiseConfig } from './environments.ts';

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
    for (const ended of hasOverlap ? older : all) void deleteKey(tx, id, ended.id);
    if (hasOverlap && newest !== undefined) void setKeyExpiry(tx, id, newest.id, previousExpiresAt);
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
    void deleteKey(tx, id, keyId);
    void tx.change(STAMP_DESTINATION, [idBytes(id), version]);
    void leaveBarrier(tx, { destinationId: id, environment, version });
    provedByVersion(tx, id, version);
    return 'ended';
  });
