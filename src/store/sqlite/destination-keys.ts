// The small integer that stands for a destination in deliveries, looked up once and kept: keys are never reused.
import { idBytes } from '../../model/id.ts';
import type { DestinationId } from '../../model/id.ts';
import { prepare } from './file/database.ts';
import type { Database } from './file/database.ts';

export interface DestinationKeys {
  /** Null: there is no row of that id (a deleted destination still has one until it is pruned). */
  keyOf(id: DestinationId): number | null;
}

export function createDestinationKeys(db: Database): DestinationKeys {
  const select = prepare<{ key: number }>(db, 'SELECT key FROM destinations WHERE id = ?');
  const keys = new Map<DestinationId, number>();
  return {
    keyOf(id) {
      const known = keys.get(id);
      if (known !== undefined) return known;
      const row = select.get(idBytes(id));
      if (row === undefined) return null;
      keys.set(id, row.key);
      return row.key;
    },
  };
}
