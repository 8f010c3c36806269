// Operations between rows and values.
import { formatId } from '../../model/id.ts';
import type { Operation, OperationRequest, Progress } from '../../model/operation.ts';
import type { OperationStep, OperationStepResult } from '../store.ts';
import { operationStatusCode } from './codec.ts';

export type OperationRow = {
  id: Uint8Array;
  environment: number;
  request: string;
  status: number;
  rev: number;
  position: string;
  total: number;
  done: number;
  failed: number;
  skipped: number;
  created_at: number;
  updated_at: number;
  finished_at: number | null;
  created_by: Uint8Array;
};

export const OPERATION_COLUMNS = `
  id, environment, request, status, rev, position, total, done, failed, skipped, created_at, updated_at, finished_at,
  created_by`;

export function toOperation(row: OperationRow): Operation {
  return {
    id: formatId('op', row.id),
    environment: row.environment,
    request: JSON.parse(row.request) as OperationRequest,
    status: operationStatusCode.nameOf(row.status),
    rev: row.rev,
    position: row.position,
    total: row.total,
    done: row.done,
    failed: row.failed,
    skipped: row.skipped,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    finishedAt: row.finished_at,
    createdBy: formatId('key', row.created_by),
  };
}

/** What changes of an operation, in the order of the columns status, rev, … finished_at. */
export function changedValues(operation: Operation): (string | number | null)[] {
  const { status, rev, position, total, done, failed, skipped, updatedAt, finishedAt } = operation;
  return [operationStatusCode.numberOf(status), rev, position, total, done, failed, skipped, updatedAt, finishedAt];
}

type Advanced = Extract<OperationStepResult, { result: 'advanced' }>;

export type ReplayOutcome = Pick<Advanced, 'backlogFull' | 'tooOld'>;

/** By what has become of the deliveries that a step was to send again, and of those it was to make. */
export function progressOf(
  { counted, failed, sendAgain, replays }: OperationStep,
  { open, backlogFull, tooOld }: ReplayOutcome & Pick<Advanced, 'open'>,
): Progress {
  const isTooOld = new Set<string>(tooOld);
  let [made, unmade] = [0, 0];
  for (const { id, deliveries } of replays?.events ?? []) {
    if (isTooOld.has(id)) unmade += deliveries.length;
    else made += deliveries.length;
  }
  return {
    counted,
    done: open.length + made - backlogFull.length,
    failed: failed + backlogFull.length,
    skipped: (sendAgain?.ids.length ?? 0) - open.length + unmade,
  };
}
