// A destination's retry policy: in words, and in the one field that there is to change it.
import type { Schemas } from '../api/client.ts';
import { span } from './time.ts';

type RetryPolicy = Schemas['RetryPolicy'];

const SHOWN_MAX = 10;

/** "after 5 s, 5 min, 30 min; 15 s for an attempt". */
export function policyInWords(policy: RetryPolicy | null): string {
  if (policy === null) return 'the default schedule';
  const timeout =
    policy.timeout_seconds === undefined ? '' : `; ${span(policy.timeout_seconds * 1_000)} for an attempt`;
  return `${delaysOf(policy)}${timeout}`;
}

function delaysOf(policy: RetryPolicy): string {
  const listed = listOf(policy);
  if (listed !== null) {
    const delays = listed.map((seconds) => span(seconds * 1_000));
    if (delays.length === 0) return 'none: one attempt only';
    const more = delays.length > SHOWN_MAX ? ` and ${delays.length - SHOWN_MAX} more` : '';
    return `after ${delays.slice(0, SHOWN_MAX).join(', ')}${more}`;
  }
  if (!hasFormula(policy)) return 'the default schedule';
  const { max_attempts: attempts, initial_seconds: initial, factor } = policy as FormulaPolicy;
  const first = span((initial ?? 5) * 1_000);
  return `${attempts ?? 10} attempts, the first retry after ${first}, each delay ${factor ?? 3} times the one before`;
}
type FormulaPolicy = { max_attempts?: number; initial_seconds?: number; factor?: number; max_seconds?: number };

function listOf(policy: RetryPolicy): readonly number[] | null {
  return 'schedule_seconds' in policy ? (policy.schedule_seconds ?? null) : null;
}

function hasFormula(policy: RetryPolicy): boolean {
  const { max_attempts: attempts, initial_seconds: initial, factor, max_seconds: max } = policy as FormulaPolicy;
  return [attempts, initial, factor, max].some((part) => part !== undefined);
}

/** The delays as the field has them: a formula and "no retries" have no words there. */
export function writtenDelaysOf(policy: RetryPolicy | null): string {
  return (policy && listOf(policy))?.join(', ') ?? '';
}

/** What it means to leave the field empty, or to empty it. */
export function meaningOfNoDelays(policy: RetryPolicy | null): string {
  if (policy !== null && hasFormula(policy)) return 'This destination has a formula; leave this empty to keep it.';
  if (policy !== null && listOf(policy)?.length === 0) {
    return 'This destination gets one attempt only; leave this empty to keep that.';
  }
  return 'Empty: the default schedule.';
}

/** The policy with the delays that are written in the field, and all else as it was. */
export function policyWith(written: string, policy: RetryPolicy | null): RetryPolicy | null {
  if (written.trim() === writtenDelaysOf(policy)) return policy;
  const delays = written
    .split(/[\s,]+/)
    .filter((part) => part !== '')
    .map(Number);
  const { timeout_seconds: timeout, jitter } = policy ?? {};
  const rest = { ...(timeout !== undefined && { timeout_seconds: timeout }), ...(jitter !== undefined && { jitter }) };
  if (delays.length > 0) return { schedule_seconds: delays, ...rest };
  return Object.keys(rest).length === 0 ? null : rest;
}
