// How far an operation has come, as its row keeps it.
import type { Place } from './work.ts';

/** Counting first: then `total` is known while it works. */
export type Position = { phase: 'counting' | 'working'; place: Place };

export const START: Place = { list: 0, before: null };

export function writePosition(position: Position): string {
  return JSON.stringify(position);
}

export function readPosition(text: string): Position {
  return JSON.parse(text) as Position;
}
