// How many deliveries a list has, by a walk through its index in pieces: no row is looked at, so that a million are
// counted in well under a second.
import { idBytes } from '../../../../model/id.ts';
import { deliveryStatusCode } from '../../../rows/codec.ts';
import { idRange, toCounted, type CountRow } from '../../../rows/page.ts';
import type { Read } from '../../context.ts';
import { statement } from '../../file/database.ts';

const countOf = (column: 'environment' | 'destination') =>
  statement<CountRow>(`
    SELECT count(*) AS count, min(id) AS oldest, max(id) AS newest FROM
      (SELECT id FROM deliveries
       WHERE ${column} = ?1 AND status = ?2 AND id >= ?3 AND id < ?4 ORDER BY id DESC LIMIT ?5)`);

const OF_ENVIRONMENT = countOf('environment');
const OF_DESTINATION = countOf('destination');

const SELECT_KEY = statement<{ key: number }>('SELECT key FROM destinations WHERE id = ? AND environment = ?');

export const countDeliveries: Read<'countDeliveries'> = ({ sql }, request) => {
  const { environment, destinationId, status, before, limit } = request;
  // No destination has the key 0.
  const key = destinationId === null ? null : (sql(SELECT_KEY).get(idBytes(destinationId), environment)?.key ?? 0);
  const select = key === null ? OF_ENVIRONMENT : OF_DESTINATION;
  const range = idRange(request, before);
  return toCounted(sql(select).get(key ?? environment, deliveryStatusCode.numberOf(status), ...range, limit)!, limit);
};
