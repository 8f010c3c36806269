// Deliveries between rows and values: what lists show is derived here from the row, its destination and its event.
import { FORCED_DUE_AT } from '../../../model/delivery.ts';
import type { Delivery, OpenDelivery, OpenStatus } from '../../../model/delivery.ts';
import { formatId, idTime } from '../../../model/id.ts';
import type { DestinationId } from '../../../model/id.ts';
import {
  DEAD,
  deadReasonCode,
  decodeResponseCodes,
  deliveryStatusCode,
  isUnfinished,
  nameOrNull,
  originCode,
} from '../codec.ts';

// ── As operators see a delivery ──────────────────────────────────────────────────────────────────────────

export type DeliveryRow = {
  id: Uint8Array;
  event_id: Uint8Array;
  event_type: string;
  destination_id: Uint8Array;
  subscription_id: Uint8Array;
  status: number;
  dead_reason: number | null;
  origin: number;
  attempt_count: number;
  response_codes: Uint8Array;
  due_at: number | null;
  updated_at: number;
  completed_at: number | null;
  is_paused: number;
  deleted_at: number | null;
  held_until: number | null;
};

export const SELECT_DELIVERY = `
  SELECT d.id, d.event_id, e.type AS event_type, t.id AS destination_id, d.subscription_id, d.status, d.dead_reason,
         d.origin, d.attempt_count, d.response_codes, d.due_at, d.updated_at, d.completed_at,
         t.status AS is_paused, t.deleted_at, h.held_until
  FROM deliveries d
  JOIN destinations t ON t.key = d.destination
  JOIN events e ON e.environment = d.environment AND e.id = d.event_id
  LEFT JOIN destination_health h ON h.destination = d.destination
  WHERE d.id = ? AND d.environment = ?`;

/** Unfinished in its row, but its destination is gone: it reads as dead from that moment on. */
export function isEndedByDeletion(row: { status: number; deleted_at: number | null }): boolean {
  return isUnfinished(row.status) && row.deleted_at !== null;
}

/** The status that the row reads as. */
export function effectiveStatus(row: { status: number; deleted_at: number | null }): number {
  return isEndedByDeletion(row) ? DEAD : row.status;
}

export function toDelivery(row: DeliveryRow): Delivery {
  const id = formatId('dlv', row.id);
  return {
    id,
    eventId: formatId('evt', row.event_id),
    eventType: row.event_type,
    destinationId: formatId('dst', row.destination_id),
    subscriptionId: formatId('sub', row.subscription_id),
    status: deliveryStatusCode.nameOf(effectiveStatus(row)),
    origin: originCode.nameOf(row.origin),
    attemptCount: row.attempt_count,
    retryCount: Math.max(0, row.attempt_count - 1),
    responseCodes: decodeResponseCodes(row.response_codes),
    createdAt: idTime(id),
    ...endingOf(row),
  };
}

function endingOf(row: DeliveryRow): Pick<Delivery, 'deadReason' | 'nextAttemptAt' | 'updatedAt' | 'completedAt'> {
  const { updated_at: updatedAt, deleted_at: deletedAt } = row;
  if (isUnfinished(row.status) && deletedAt !== null) {
    return {
      deadReason: 'destination_deleted',
      nextAttemptAt: null,
      updatedAt: Math.max(updatedAt, deletedAt),
      completedAt: deletedAt,
    };
  }
  // A forced attempt keeps how the delivery had ended in the row; that is not shown while it waits.
  if (isUnfinished(row.status)) {
    return { deadReason: null, nextAttemptAt: nextAttemptAt(row), updatedAt, completedAt: null };
  }
  const deadReason = nameOrNull(deadReasonCode, row.dead_reason);
  return { deadReason, nextAttemptAt: null, updatedAt, completedAt: row.completed_at };
}

function nextAttemptAt(row: DeliveryRow): number | null {
  if (row.due_at === FORCED_DUE_AT) return row.updated_at;
  if (row.is_paused === 1) return null;
  return Math.max(row.due_at!, row.held_until ?? 0);
}

// ── As dispatching sees an unfinished one ────────────────────────────────────────────────────────────────

export type OpenRow = {
  id: Uint8Array;
  environment: number;
  event_id: Uint8Array;
  rev: number;
  status: number;
  due_at: number;
  scheduled_at: number | null;
  fallback_status: number | null;
  schedule_position: number;
  attempt_count: number;
};

export const OPEN_COLUMNS = `
  d.id, d.environment, d.event_id, d.rev, d.status, d.due_at, d.scheduled_at, d.fallback_status,
  d.schedule_position, d.attempt_count`;

export const SELECT_OPEN = `
  SELECT ${OPEN_COLUMNS}, t.id AS destination_id
  FROM deliveries d JOIN destinations t ON t.key = d.destination
  WHERE d.id = ?`;

export type OpenRowWithDestination = OpenRow & { destination_id: Uint8Array };

export function toOpenDelivery(row: OpenRow, destinationId: DestinationId): OpenDelivery {
  return {
    id: formatId('dlv', row.id),
    environment: row.environment,
    eventId: formatId('evt', row.event_id),
    destinationId,
    rev: row.rev,
    status: deliveryStatusCode.nameOf(row.status) as OpenStatus,
    dueAt: row.due_at,
    scheduledAt: row.scheduled_at,
    fallbackStatus: nameOrNull(deliveryStatusCode, row.fallback_status),
    schedulePosition: row.schedule_position,
    attemptCount: row.attempt_count,
  };
}

/** A row of SELECT_OPEN. */
export function toOpenDeliveryAlone(row: OpenRowWithDestination): OpenDelivery {
  return toOpenDelivery(row, formatId('dst', row.destination_id));
}
