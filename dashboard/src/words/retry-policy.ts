import type { Schemas } from '../api/client.ts';
import { span } from './time.ts';

const SHOWN_MAX = 10;

/** "after 5 s, 5 min, 30 min; 15 s for an attempt". */
export function policyInWords(policy: Schemas['RetryPolicy'] | null): string {
  if (policy === null) return 'the default schedule';
  const timeout =
    policy.timeout_seconds === undefined ? '' : `; ${span(policy.timeout_seconds * 1_000)} for an attempt`;
  return `${delaysOf(policy)}${timeout}`;
}

function delaysOf(policy: Schemas['RetryPolicy']): string {
  if ('schedule_seconds' in policy && policy.schedule_seconds !== undefined) {
    const delays = policy.schedule_seconds.map((seconds) => span(seconds * 1_000));
    if (delays.length === 0) return 'none: one attempt only';
    const more = delays.length > SHOWN_MAX ? ` and ${delays.length - SHOWN_MAX} more` : '';
    return `after ${delays.slice(0, SHOWN_MAX).join(', ')}${more}`;
  }
  const { max_attempts: attempts, initial_seconds: initial, factor, max_seconds: max } = policy as FormulaPolicy;
  if (attempts === undefined && initial === undefined && factor === undefined && max === undefined) {
    return 'the default schedule';
  }
  const first = span((initial ?? 5) * 1_000);
  return `${attempts ?? 10} attempts, the first retry after ${first}, each delay ${factor ?? 3} times the one before`;
}
type FormulaPolicy = { max_attempts?: number; initial_seconds?: number; factor?: number; max_seconds?: number };
