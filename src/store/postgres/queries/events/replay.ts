// New deliveries for an old event.
import { idTime } from '../../../../model/id.ts';
import type { ReplayResult } from '../../../store.ts';
import { withPartitions } from '../../bisect.ts';
import { writeToHandOver, type Write } from '../../context.ts';
import { statement } from '../../wire/statement.ts';
import { keyOf, timesOf } from '../deliveries/delivery-tables.ts';
import { readConfigVersion } from '../configuration/environments.ts';
import { SELECT_EVENT, hasBody } from './event-rows.ts';
import { insertDeliveries } from './insert-deliveries.ts';

// One statement, so that a delivery on its way from one table to the other is in exactly one of them.
const IS_STORED = statement<unknown>(
  'deliveries_is_stored',
  `SELECT 1 FROM open_deliveries WHERE shard = $1::int2 AND id = $2
   UNION ALL SELECT 1 FROM done_deliveries WHERE shard = $1::int2 AND id = $2`,
);

export const replayEvent: Write<'replayEvent'> = (context, request) => {
  const { write, backlog, horizons, partitions } = context;
  const { environment, eventId, configVersion, deliveries, now, bodyCutoff } = request;
  return withPartitions(partitions, timesOf(deliveries.map(({ id }) => id)), () =>
    writeToHandOver(backlog, write, async (tx, change): Promise<ReplayResult> => {
      if (horizons.hides('rows', eventId)) return tx.refuse({ result: 'not_found' });
      const [version, found, isWhole] = await Promise.all([
        readConfigVersion(tx, environment),
        tx.run(SELECT_EVENT, [...keyOf(eventId), environment]),
        hasBody(tx, horizons, eventId),
      ]);
      if (found.length === 0) return tx.refuse({ result: 'not_found' });
      if (!isWhole || idTime(eventId) < bodyCutoff) return tx.refuse({ result: 'too_old' });
      if (configVersion < version) return tx.refuse({ result: 'stale' });
      const [backlogFull] = await insertDeliveries(tx, context, change, [
        { environment, eventId, origin: 'replay', dueAt: now, deliveries },
      ]);
      if (deliveries.length > 0) tx.provedBy(IS_STORED, keyOf(deliveries[0]!.id));
      return { result: 'replayed', backlogFull: backlogFull! };
    }),
  );
};
