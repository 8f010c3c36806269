// This process may have as many files and sockets open as the system lets it. Having none left says nothing of a
// receiver: it is no outcome of an attempt, but a reason to try again.
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

const NONE_LEFT = new Set(['EMFILE', 'ENFILE']);

export class NoDescriptors extends Error {
  constructor() {
    super('this service has run out of file descriptors: raise their limit (ulimit -n), or lower MAX_IN_FLIGHT');
  }
}

export function saysNoneLeft(code: string | undefined): boolean {
  return NONE_LEFT.has(code ?? '');
}

/** Asked where the system's error is not passed on. */
export function areNoneLeft(): boolean {
  try {
    closeSync(openSync(devNull, 'r'));
    return false;
  } catch (error) {
    return saysNoneLeft((error as NodeJS.ErrnoException).code);
  }
}
