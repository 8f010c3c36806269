// New deliveries for an old event.
import { idBytes, idTime } from '../../../../model/id.ts';
import type { ReplayRequest, ReplayResult } from '../../../store.ts';
import type { WriteContext } from '../../context.ts';
import { prepare } from '../../file/database.ts';
import { createEnvironmentCounters } from '../configuration/environments.ts';
import { createDeliveryInserter } from './insert-deliveries.ts';

const SELECT_HAS_BODY = `
  SELECT EXISTS (SELECT 1 FROM event_bodies b WHERE b.event_id = e.id) AS has_body
  FROM events e WHERE e.environment = ? AND e.id = ?`;

export function createReplayWrites(context: WriteContext) {
  const { db, write, diskReserve } = context;
  const environments = createEnvironmentCounters(db);
  const insertDeliveries = createDeliveryInserter(context);
  const selectHasBody = prepare<{ has_body: number }>(db, SELECT_HAS_BODY);

  return {
    replayEvent({ environment, eventId, configVersion, deliveries, now, bodyCutoff }: ReplayRequest): ReplayResult {
      diskReserve.assertRoom();
      return write(() => {
        const id = idBytes(eventId);
        const event = selectHasBody.get(environment, id);
        if (event === undefined) return { result: 'not_found' };
        if (event.has_body === 0 || idTime(eventId) < bodyCutoff) return { result: 'too_old' };
        if (configVersion < environments.configVersion(environment)) return { result: 'stale' };
        const backlogFull = insertDeliveries({ environment, eventId: id, origin: 'replay', dueAt: now, deliveries });
        return { result: 'replayed', backlogFull };
      });
    },
  };
}
