// Deliveries between rows and values: what lists show is derived here from the row, its destination and its event.
import {
  FORCED_DUE_AT,
  type Delivery,
  type DeliveryState,
  type OpenDelivery,
  type OpenState,
} from '../../model/delivery.ts';
import { formatId, idTime, type DestinationId } from '../../model/id.ts';
import { endByDeletion, type Ending } from '../../model/transitions.ts';
import {
  DEAD,
  SUCCEEDED,
  deadReasonCode,
  decodeResponseCodes,
  deliveryStatusCode,
  isUnfinished,
  nameOrNull,
  numberOrNull,
  originCode,
} from './codec.ts';

// ── Where a delivery stands ──────────────────────────────────────────────────────────────────────────────

/** A `DeliveryState` in columns. */
export type StateRow = {
  status: number;
  dead_reason: number | null;
  completed_at: number | null;
  due_at: number | null;
  scheduled_at: number | null;
  fallback_status: number | null;
  schedule_position: number;
};

export function toState(row: StateRow): DeliveryState {
  return {
    status: deliveryStatusCode.nameOf(row.status),
    deadReason: nameOrNull(deadReasonCode, row.dead_reason),
    completedAt: row.completed_at,
    dueAt: row.due_at,
    scheduledAt: row.scheduled_at,
    fallbackStatus: nameOrNull(deliveryStatusCode, row.fallback_status),
    schedulePosition: row.schedule_position,
  };
}

export function toStateRow(state: DeliveryState): StateRow {
  return {
    status: deliveryStatusCode.numberOf(state.status),
    dead_reason: numberOrNull(deadReasonCode, state.deadReason),
    completed_at: state.completedAt,
    due_at: state.dueAt,
    scheduled_at: state.scheduledAt,
    fallback_status: numberOrNull(deliveryStatusCode, state.fallbackStatus),
    schedule_position: state.schedulePosition,
  };
}

/** In the order of StateRow, which every statement that writes all of it keeps. */
export function stateValues(state: DeliveryState): (number | null)[] {
  return Object.values(toStateRow(state));
}

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
  fallback_status: number | null;
  is_paused: number;
  deleted_at: number | null;
  held_until: number | null;
};

type EndingRow = Pick<DeliveryRow, 'status' | 'fallback_status' | 'deleted_at'>;

/** Unfinished in its row, but its destination is gone: it reads as ended from that moment on. */
function isEndedByDeletion(row: EndingRow): boolean {
  return isUnfinished(row.status) && row.deleted_at !== null;
}

/** The status that the row reads as. As `endByDeletion` has it: that is held against this by the conformance suite. */
export function effectiveStatus(row: EndingRow): number {
  if (!isEndedByDeletion(row)) return row.status;
  return row.fallback_status === SUCCEEDED ? SUCCEEDED : DEAD;
}

/** What `expire` and `endByDeletion` go by. */
export function toEnding(row: Pick<StateRow, 'fallback_status' | 'completed_at'>): Ending {
  return { fallbackStatus: nameOrNull(deliveryStatusCode, row.fallback_status), completedAt: row.completed_at };
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

type ShownEnding = Pick<Delivery, 'deadReason' | 'nextAttemptAt' | 'updatedAt' | 'completedAt'>;

function endingOf(row: DeliveryRow): ShownEnding {
  const { updated_at: updatedAt, completed_at: completedAt } = row;
  if (isEndedByDeletion(row)) {
    const ended = endByDeletion({ ...toEnding(row), updatedAt }, row.deleted_at!);
    const { deadReason, updatedAt: endedAt, ...ending } = ended;
    return { deadReason, nextAttemptAt: ending.dueAt, updatedAt: endedAt, completedAt: ending.completedAt };
  }
  // A forced attempt keeps how the delivery had ended in the row; that is not shown while it waits.
  if (isUnfinished(row.status)) {
    return { deadReason: null, nextAttemptAt: nextAttemptAt(row), updatedAt, completedAt: null };
  }
  return { deadReason: nameOrNull(deadReasonCode, row.dead_reason), nextAttemptAt: null, updatedAt, completedAt };
}

function nextAttemptAt(row: DeliveryRow): number | null {
  if (row.due_at === FORCED_DUE_AT) return row.updated_at;
  if (row.is_paused === 1) return null;
  return Math.max(row.due_at!, row.held_until ?? 0);
}

// ── As dispatching sees an unfinished one ────────────────────────────────────────────────────────────────

export type OpenRow = StateRow & {
  due_at: number;
  id: Uint8Array;
  environment: number;
  event_id: Uint8Array;
  rev: number;
  attempt_count: number;
};

export type OpenRowWithDestination = OpenRow & { destination_id: Uint8Array };

export function toOpenDelivery(row: OpenRow, destinationId: DestinationId): OpenDelivery {
  return {
    ...(toState(row) as OpenState),
    id: formatId('dlv', row.id),
    environment: row.environment,
    eventId: formatId('evt', row.event_id),
    destinationId,
    rev: row.rev,
    attemptCount: row.attempt_count,
  };
}

export function toOpenDeliveryAlone(row: OpenRowWithDestination): OpenDelivery {
  return toOpenDelivery(row, formatId('dst', row.destination_id));
}
