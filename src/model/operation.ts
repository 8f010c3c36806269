// An operation: something asked for many deliveries at once, which goes on in the background in small steps until all
// that it found has had its turn. Pure: what a step and an operator's word make of its row. Times are Unix ms.
import type { DeadReason } from './delivery.ts';
import type { ApiKeyId, DestinationId, OperationId } from './id.ts';

export const OPERATION_KINDS = ['dlq_replay', 'destination_recovery', 'event_replay'] as const;

export const OPERATION_STATUSES = ['running', 'paused', 'done', 'cancelled', 'failed'] as const;
export type OperationStatus = (typeof OPERATION_STATUSES)[number];

export const PER_SECOND_DEFAULT = 100;
export const PER_SECOND_MAX = 10_000;

/** What it is about. Times are Unix ms, `since` inclusive and `until` exclusive; null: no such bound. */
export type OperationRequest = { since: number | null; until: number | null; perSecond: number } & (
  | {
      kind: 'dlq_replay';
      destinationId: DestinationId | null;
      /** An event type or a pattern. */
      eventType: string | null;
      deadReason: DeadReason | null;
    }
  | { kind: 'destination_recovery'; destinationId: DestinationId }
  | {
      kind: 'event_replay';
      eventType: string | null;
      destinationIds: DestinationId[] | null;
      missingOnly: boolean;
    }
);

export type Operation = {
  id: OperationId;
  environment: number;
  request: OperationRequest;
  status: OperationStatus;
  /** Raised by every writer, as of a delivery. */
  rev: number;
  /** Where the next step goes on, in words of whoever takes the steps. */
  position: string;
  /** How many deliveries it is about, as far as they are counted. */
  total: number;
  done: number;
  failed: number;
  /** There was nothing to do for these, or no way to do it. */
  skipped: number;
  /** Unix ms. It works on what was there then. */
  createdAt: number;
  updatedAt: number;
  finishedAt: number | null;
  createdBy: ApiKeyId;
};

/** What one step found or did. */
export type Progress = { counted: number; done: number; failed: number; skipped: number };

export type OperationEnd = 'done' | 'failed';

/** After a step. At its end what was counted and was not met is skipped: by then it was gone, or went by itself. */
export function advance(
  operation: Operation,
  step: { progress: Progress; position: string; end: OperationEnd | null; now: number },
): Operation {
  const { counted, ...met } = step.progress;
  const total = operation.total + counted;
  const done = operation.done + met.done;
  const failed = operation.failed + met.failed;
  const skipped = operation.skipped + met.skipped;
  const updatedAt = Math.max(operation.updatedAt, step.now);
  const next = { ...operation, rev: operation.rev + 1, position: step.position, updatedAt };
  if (step.end === null) return { ...next, total, done, failed, skipped };
  const metCount = done + failed + skipped;
  return {
    ...next,
    status: step.end,
    finishedAt: step.now,
    total: Math.max(total, metCount),
    done,
    failed,
    skipped: skipped + Math.max(0, total - metCount),
  };
}

export type OperationAction = 'cancel' | 'pause' | 'resume';

const STATUS_AFTER = { cancel: 'cancelled', pause: 'paused', resume: 'running' } as const;

/** `ended`: it has ended in another way. What it is already it stays, unchanged. */
export function act(operation: Operation, action: OperationAction, now: number): Operation | 'ended' {
  const status = STATUS_AFTER[action];
  if (operation.status === status) return operation;
  if (operation.finishedAt !== null) return 'ended';
  const finishedAt = action === 'cancel' ? now : null;
  return { ...operation, status, rev: operation.rev + 1, updatedAt: Math.max(operation.updatedAt, now), finishedAt };
}
