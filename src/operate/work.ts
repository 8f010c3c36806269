// What an operation is about, as a walk: through one list after another, newest first, each read in short pages. It is
// walked twice, first to count and then to do, and may stop and go on at any place.
import type { OperationRequest } from '../model/operation.ts';
import type { OperationStep, OperationStepResult } from '../store/store.ts';
import type { Pace } from './pace.ts';

export type Task = {
  environment: number;
  request: OperationRequest;
  /** Unix ms: what was made, or ended, from then on is none of its business. */
  cutoff: number;
};

/** `before`: an id of the list, whose rows from there on have had their turn; null: none has. */
export type Place = { list: number; before: string | null };

export const START: Place = { list: 0, before: null };

/** How far an operation has come, as its row keeps it. Counting first: then `total` is known while it works. */
export type Position = { phase: 'counting' | 'working'; place: Place };

export function writePosition(position: Position): string {
  return JSON.stringify(position);
}

export function readPosition(text: string): Position {
  return JSON.parse(text) as Position;
}

/** `oldest`, `newest`: Unix ms, when they were made; null: there are none. */
export type Found = { count: number; oldest: number | null; newest: number | null };

export const NOTHING_FOUND: Found = { count: 0, oldest: null, newest: null };

export type Advanced = Extract<OperationStepResult, { result: 'advanced' }>;

export type Taken = {
  /** What is to be done; null: nothing here. */
  step: Pick<OperationStep, 'sendAgain' | 'replays' | 'failed'> | null;
  /** Where the walk goes on; null: it has come to its end. */
  next: Place | null;
  /** Until the next one may have its turn, by the pace. */
  waitMs: number;
  /** To be called after the commit: hands on what can be sent. */
  onStored: (stored: Advanced, now: number) => void;
};

export interface Work {
  /** What one page has. */
  count(task: Task, place: Place): Promise<{ found: Found; next: Place | null }>;
  /** The first of one page, as many as a short transaction and the pace allow. */
  take(task: Task, place: Place, pace: Pace): Promise<Taken>;
}

export function together(a: Found, b: Found): Found {
  return {
    count: a.count + b.count,
    oldest: a.oldest === null || b.oldest === null ? (a.oldest ?? b.oldest) : Math.min(a.oldest, b.oldest),
    newest: a.newest === null || b.newest === null ? (a.newest ?? b.newest) : Math.max(a.newest, b.newest),
  };
}

/** The narrower of what was asked for and what was there. */
export function untilOf({ request, cutoff }: Task): number {
  return Math.min(request.until ?? cutoff, cutoff);
}
