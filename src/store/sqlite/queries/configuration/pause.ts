// Pausing destinations by what came back from them, inside the transaction that records it.
import type { PausedReason } from '../../../../model/destination.ts';
import { formatId } from '../../../../model/id.ts';
import type { DestinationId } from '../../../../model/id.ts';
import { pausedReasonCode } from '../../../rows/codec.ts';
import type { WriteContext } from '../../context.ts';
import { prepare } from '../../file/database.ts';
import { createEnvironmentCounters } from './environments.ts';

interface Pauser {
  /** Forgets what earlier transactions paused. */
  reset(): void;
  /** Nothing happens to a destination that is paused or deleted already. */
  pause(destination: number, reason: PausedReason, now: number): void;
  paused(): DestinationId[];
}

const PAUSE = `
  UPDATE destinations SET status = 1, paused_reason = ?, updated_at = ?
  WHERE key = ? AND status = 0 AND deleted_at IS NULL
  RETURNING id, environment`;

export function createPauser({ db }: WriteContext): Pauser {
  const environments = createEnvironmentCounters(db);
  const pause = prepare<{ id: Uint8Array; environment: number }>(db, PAUSE);
  const stamp = prepare(db, 'UPDATE destinations SET version = ? WHERE key = ?');
  let paused: DestinationId[] = [];
  return {
    reset() {
      paused = [];
    },
    pause(destination, reason, now) {
      const row = pause.get(pausedReasonCode.numberOf(reason), now, destination);
      if (row === undefined) return;
      stamp.run(environments.raiseConfig(row.environment), destination);
      paused.push(formatId('dst', row.id));
    },
    paused: () => paused,
  };
}
