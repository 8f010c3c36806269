// One delivery with its whole history.
import type { DeliveryWithAttempts } from '../../../../model/delivery.ts';
import type { DeliveryId } from '../../../../model/id.ts';
import { toAttempt } from '../../../rows/attempt-rows.ts';
import type { AttemptRow } from '../../../rows/attempt-rows.ts';
import { toDelivery } from '../../../rows/delivery-rows.ts';
import type { ReadContext } from '../../context.ts';
import { statement } from '../../wire/statement.ts';
import { decodeText } from '../../wire/values.ts';
import { keyOf } from './delivery-tables.ts';
import { selectDelivery } from './select-delivery.ts';

const SELECT_ATTEMPTS = statement<AttemptRow>(
  'attempts_of_delivery',
  `SELECT n, trigger, started_at, duration_ms, outcome, response_code, response_headers, response_body,
          response_truncated::int4 AS response_truncated, error
   FROM attempts WHERE shard = $1::int2 AND delivery_id = $2 ORDER BY n`,
);

export function createDeliveryReads({ read, horizons }: ReadContext) {
  return {
    readDelivery: (request: { environment: number; id: DeliveryId }): Promise<DeliveryWithAttempts | null> =>
      read(async (tx) => {
        const [row, attempts] = await Promise.all([
          selectDelivery(tx, horizons, request),
          tx.run(SELECT_ATTEMPTS, keyOf(request.id)),
        ]);
        if (row === null) return null;
        const history = attempts.map((attempt) => toAttempt({ ...attempt, error: decodeText(attempt.error) }));
        return { ...toDelivery(row), attempts: history };
      }),
  };
}
