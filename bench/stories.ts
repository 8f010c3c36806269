// What became of a delivery, as rows have it: times in ms after its event, names as the numbers that are on disk.
import type { SQLInputValue } from 'node:sqlite';
import { deadReasonCode, deliveryStatusCode, encodeResponseCode, outcomeCode } from '../src/store/rows/codec.ts';

export type Recipient = {
  /** What stands for the destination in rows: a number in the file, its id in PostgreSQL. */
  key: number | string;
  shard: number;
  subscriptionId: Uint8Array;
  /** Its deliveries wait, as those of a destination paused before their first attempt, or after it. */
  waits?: 'pending' | 'retrying';
};

export type Story = {
  status: number;
  deadReason: number | null;
  dueAfter: number | null;
  position: number;
  codes: Uint8Array;
  updatedAfter: number;
  completedAfter: number | null;
  /** n, started after, duration, outcome, code, headers, body, error. */
  attempts: SQLInputValue[][];
};

/** The default schedule. */
const DELAYS_MS = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map((seconds) => seconds * 1_000);
const DURATION_MS = 20;
const HEADERS = '[["content-type","text/plain"],["content-length","2"],["server","bench"]]';
const BODY = Buffer.from('ok');
const WHY_FAILED = 'answered 500; success is 2xx';

const PENDING = tell({ status: 'pending', failures: 0 });
const RETRYING = tell({ status: 'retrying', failures: 1 });
const SUCCEEDED = tell({ status: 'succeeded', failures: 0 });
const SUCCEEDED_LATER = tell({ status: 'succeeded', failures: 1 });
const DEAD = tell({ status: 'dead', failures: DELAYS_MS.length + 1 });

/** 95 of 100 arrive at once, three at the second attempt, two never. */
export function storyOf({ waits }: Recipient, index: number): Story {
  if (waits !== undefined) return waits === 'pending' ? PENDING : RETRYING;
  const place = index % 100;
  if (place % 50 === 7) return DEAD;
  return place % 40 === 3 ? SUCCEEDED_LATER : SUCCEEDED;
}

function tell({
  status,
  failures,
}: {
  status: 'pending' | 'retrying' | 'succeeded' | 'dead';
  failures: number;
}): Story {
  const outcomes: number[] = Array.from({ length: failures }, () => 500);
  if (status === 'succeeded') outcomes.push(200);
  const startOf = (n: number): number => DELAYS_MS.slice(0, n).reduce((sum, ms) => sum + ms + DURATION_MS, 0);
  const endedAfter = outcomes.length === 0 ? 0 : startOf(outcomes.length - 1) + DURATION_MS;
  const isOver = status === 'succeeded' || status === 'dead';
  return {
    status: deliveryStatusCode.numberOf(status),
    deadReason: status === 'dead' ? deadReasonCode.numberOf('exhausted') : null,
    dueAfter: isOver ? null : startOf(outcomes.length),
    position: Math.min(failures, DELAYS_MS.length),
    codes: Buffer.concat(outcomes.map((code) => encodeResponseCode(code))),
    updatedAfter: endedAfter,
    completedAfter: isOver ? endedAfter : null,
    attempts: outcomes.map((code, i) => {
      const [outcome, error] = code === 200 ? ['succeeded' as const, null] : ['bad_status' as const, WHY_FAILED];
      return [i + 1, startOf(i), DURATION_MS, outcomeCode.numberOf(outcome), code, HEADERS, BODY, error];
    }),
  };
}
