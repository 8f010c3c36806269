// One delivery with its whole history.
import type { DeliveryWithAttempts } from '../../../../model/delivery.ts';
import { idBytes } from '../../../../model/id.ts';
import type { DeliveryId } from '../../../../model/id.ts';
import { toAttempt } from '../../../rows/attempt-rows.ts';
import type { AttemptRow } from '../../../rows/attempt-rows.ts';
import type { ReadContext } from '../../context.ts';
import { prepare } from '../../file/database.ts';
import { toDelivery } from '../../../rows/delivery-rows.ts';
import { SELECT_DELIVERY } from './select-delivery.ts';
import type { DeliveryRow } from '../../../rows/delivery-rows.ts';

const SELECT_ATTEMPTS = `
  SELECT n, trigger, started_at, duration_ms, outcome, response_code, response_headers, response_body,
         response_truncated, error
  FROM attempts WHERE delivery_id = ? ORDER BY n`;

export function createDeliveryReads({ db, read }: ReadContext) {
  const selectDelivery = prepare<DeliveryRow>(db, SELECT_DELIVERY);
  const selectAttempts = prepare<AttemptRow>(db, SELECT_ATTEMPTS);
  return {
    readDelivery: (request: { environment: number; id: DeliveryId }): DeliveryWithAttempts | null =>
      read(() => {
        const id = idBytes(request.id);
        const row = selectDelivery.get(id, request.environment);
        if (row === undefined) return null;
        return { ...toDelivery(row), attempts: selectAttempts.all(id).map(toAttempt) };
      }),
  };
}
