// Rotating a destination's signing key, and ending an old one before its time.
import type { SigningKey } from '../../../../model/destination.ts';
import { idBytes } from '../../../../model/id.ts';
import type { DestinationId, SigningKeyId } from '../../../../model/id.ts';
import type { WriteContext } from '../../context.ts';
import { prepare } from '../../file/database.ts';
import { createSigningKeys } from './keyed-destinations.ts';
import { createEnvironmentCounters } from './environments.ts';

type RotateRequest = {
  environment: number;
  id: DestinationId;
  key: SigningKey;
  previousExpiresAt: number;
  now: number;
};

type RotateResult = { result: 'rotated' } | { result: 'in_progress'; until: number } | { result: 'not_found' };

type EndRequest = { environment: number; id: DestinationId; keyId: SigningKeyId; now: number };

const SELECT_KEY = 'SELECT key FROM destinations WHERE id = ? AND environment = ? AND deleted_at IS NULL';

export function createSigningKeyWrites({ db, write, sealer, diskReserve }: WriteContext) {
  const environments = createEnvironmentCounters(db);
  const keys = createSigningKeys(db, sealer);
  const selectKey = prepare<{ key: number }>(db, SELECT_KEY);
  const stamp = prepare(db, 'UPDATE destinations SET version = ? WHERE key = ?');
  const raise = (environment: number, destination: number): void => {
    stamp.run(environments.raiseConfig(environment), destination);
  };

  return {
    rotateSigningKey({ environment, id, key, previousExpiresAt, now }: RotateRequest): RotateResult {
      diskReserve.assertRoom();
      return write(() => {
        const row = selectKey.get(idBytes(id), environment);
        if (row === undefined) return { result: 'not_found' };
        const [newest, ...older] = keys.read(row.key);
        const until = Math.max(0, ...older.map((old) => old.expiresAt ?? 0));
        if (until > now) return { result: 'in_progress', until };
        for (const expired of older) keys.remove(row.key, expired.id);
        if (newest !== undefined) keys.setExpiry(row.key, newest.id, previousExpiresAt);
        keys.insert(row.key, key);
        raise(environment, row.key);
        return { result: 'rotated' };
      });
    },

    endSigningKey({ environment, id, keyId, now }: EndRequest): 'ended' | 'newest' | 'key_not_found' | 'not_found' {
      return write(() => {
        const row = selectKey.get(idBytes(id), environment);
        if (row === undefined) return 'not_found';
        const all = keys.read(row.key);
        if (all[0]?.id === keyId) return 'newest';
        const isThere = all.some((key) => key.id === keyId && (key.expiresAt ?? Infinity) > now);
        if (!isThere) return 'key_not_found';
        keys.remove(row.key, keyId);
        raise(environment, row.key);
        return 'ended';
      });
    },
  };
}
