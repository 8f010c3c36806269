// Which rows a list of deliveries reads, and which of them it shows: what a row reads as may differ from its status
// (a deleted destination).
import { idBytes } from '../../model/id.ts';
import type { DeliveryFilter } from '../store.ts';
import { DEAD, PENDING, RETRYING, SUCCEEDED, deliveryStatusCode } from './codec.ts';
import { effectiveStatus, type DeliveryRow } from './delivery-rows.ts';

const ALL_STATUSES = [PENDING, RETRYING, SUCCEEDED, DEAD];
const MAY_READ_DEAD = [PENDING, RETRYING, DEAD];
/** What had succeeded and is forced. */
const MAY_READ_SUCCEEDED = [RETRYING, SUCCEEDED];

/** What `statusesToRead` may answer: for each there is a statement. */
export const STATUS_CHOICES: readonly (readonly number[])[] = [
  ALL_STATUSES,
  MAY_READ_DEAD,
  MAY_READ_SUCCEEDED,
  ...ALL_STATUSES.map((status) => [status]),
];

/** The statuses in rows that may read as the one that is asked for. */
export function statusesToRead(status: number | null, someAreEndedByDeletion: boolean): readonly number[] {
  if (status === null) return ALL_STATUSES;
  if (!someAreEndedByDeletion) return [status];
  if (status === DEAD) return MAY_READ_DEAD;
  return status === SUCCEEDED ? MAY_READ_SUCCEEDED : [status];
}

export function createMatcher({ destinationId, status }: DeliveryFilter) {
  const wantedStatus = status === null ? null : deliveryStatusCode.numberOf(status);
  const wantedDestination = destinationId === null ? null : idBytes(destinationId);
  return (row: DeliveryRow): boolean =>
    (wantedStatus === null || effectiveStatus(row) === wantedStatus) &&
    (wantedDestination === null || Buffer.compare(row.destination_id, wantedDestination) === 0);
}
