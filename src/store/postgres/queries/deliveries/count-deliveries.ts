// How many deliveries a list has, by a walk through its index in pieces: no row is looked at where the index knows that
// everybody sees it. A destination's are looked for without its shard, which the index does not have.
import { idBytes } from '../../../../model/id.ts';
import { deliveryStatusCode, isUnfinished } from '../../../rows/codec.ts';
import { idRange, toCounted, type CountRow } from '../../../rows/page.ts';
import type { Read } from '../../context.ts';
import { isOnly, statement, statementOfEveryShard } from '../../wire/statement.ts';

// There is no least uuid of many; their texts, byte by byte, are in the same order.
const countOf = (name: string, column: string, value: string) => {
  const of = (table: 'open' | 'done') =>
    statementOfEveryShard<CountRow>(
      `${table}_deliveries_of_${name}_counted`,
      `SELECT count(*) AS count, min(id::text COLLATE "C")::uuid AS oldest, max(id::text COLLATE "C")::uuid AS newest
       FROM (SELECT id FROM ${table}_deliveries
             WHERE ${isOnly(column, value)} AND status = $2::int2 AND id >= $3 AND id < $4
             ORDER BY ${column} DESC, id DESC LIMIT $5::int4) AS counted`,
    );
  return { open: of('open'), done: of('done') };
};

const OF_ENVIRONMENT = countOf('environment', 'environment', '$1::int4');
const OF_DESTINATION = countOf('destination', 'destination_id', '$1::uuid');

const SELECT_ENVIRONMENT = statement<{ environment: number }>(
  'destinations_environment',
  'SELECT environment FROM destinations WHERE id = $1',
);

export const countDeliveries: Read<'countDeliveries'> = ({ look, horizons }, request) =>
  look(async (tx) => {
    const { environment, destinationId, before, limit } = request;
    const status = deliveryStatusCode.numberOf(request.status);
    const since = Math.max(request.since ?? 0, horizons.before('rows'));
    if (destinationId !== null) {
      const [found] = await tx.run(SELECT_ENVIRONMENT, [idBytes(destinationId)]);
      if (found?.environment !== environment) return { count: 0, oldest: null, newest: null, next: null };
    }
    const table = isUnfinished(status) ? 'open' : 'done';
    const select = (destinationId === null ? OF_ENVIRONMENT : OF_DESTINATION)[table];
    const of = destinationId === null ? environment : idBytes(destinationId);
    const [row] = await tx.run(select, [of, status, ...idRange({ ...request, since }, before), limit]);
    return toCounted(row!, limit);
  });
