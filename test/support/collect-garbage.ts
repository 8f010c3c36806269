import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** Collects now, and all of it or only what is young. */
export const collectGarbage = runInNewContext('gc') as (options?: { type: 'major' | 'minor' }) => void;
