// The baseline's worker: signs, sends, and writes what came of it to PostgreSQL. BullMQ does the retrying.
import { createHmac } from 'node:crypto';
import { Worker, type ConnectionOptions, type Job } from 'bullmq';
import type { Pool } from 'pg';
import { Agent, request } from 'undici';

/** `payload` is what is sent: with it in the job, no attempt has to ask PostgreSQL. */
export type DeliveryJob = { deliveryId: string; eventId: string; url: string; secret: string; payload: string };

export const QUEUE = 'deliveries';

/** Attempts at once: what a destination of the service has by default. */
const CONCURRENCY = 50;
const TIMEOUT_MS = 15_000;
const BODY_CHARACTERS_KEPT = 1_024;
/** The service's default schedule. */
const DELAYS_MS = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map((seconds) => seconds * 1_000);

const RECORD = `
  WITH attempt AS (
    INSERT INTO attempts (delivery_id, n, started_at, duration_ms, outcome, response_code, response_body)
    VALUES ($1, $2, $3, $4, $5, $6, $7))
  UPDATE deliveries SET status = $8, attempt_count = $2, updated_at = now() WHERE id = $1`;

type Result = { outcome: string; code: number | null; body: string | null };

export function startWorker({ db, connection }: { db: Pool; connection: ConnectionOptions }): Worker<DeliveryJob> {
  const agent = new Agent({ connections: CONCURRENCY, headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS });
  const process = async (job: Job<DeliveryJob>): Promise<void> => {
    const startedAt = new Date();
    const result = await send(agent, job.data);
    await record(db, job, { startedAt, result });
    if (result.outcome !== 'succeeded') throw new Error(result.outcome);
  };
  return new Worker<DeliveryJob>(QUEUE, process, {
    connection,
    concurrency: CONCURRENCY,
    settings: { backoffStrategy: (attemptsMade) => DELAYS_MS[attemptsMade - 1] ?? DELAYS_MS.at(-1)! },
  });
}

async function send(dispatcher: Agent, { eventId, url, secret, payload }: DeliveryJob): Promise<Result> {
  const seconds = Math.floor(Date.now() / 1000);
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', key).update(`${eventId}.${seconds}.${payload}`).digest('base64');
  try {
    const response = await request(url, {
      dispatcher,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'webhook-id': eventId,
        'webhook-timestamp': String(seconds),
        'webhook-signature': `v1,${signature}`,
      },
      body: payload,
    });
    const body = (await response.body.text()).slice(0, BODY_CHARACTERS_KEPT);
    const isOk = response.statusCode >= 200 && response.statusCode < 300;
    return { outcome: isOk ? 'succeeded' : 'bad_status', code: response.statusCode, body };
  } catch (error) {
    return { outcome: (error as Error).name, code: null, body: null };
  }
}

async function record(db: Pool, job: Job<DeliveryJob>, attempt: { startedAt: Date; result: Result }): Promise<void> {
  const { startedAt, result } = attempt;
  const n = job.attemptsMade + 1;
  const isLast = n >= (job.opts.attempts ?? 1);
  const status = result.outcome === 'succeeded' ? 'succeeded' : isLast ? 'dead' : 'retrying';
  const { outcome, code, body } = result;
  const durationMs = Date.now() - startedAt.getTime();
  const values = [job.data.deliveryId, n, startedAt, durationMs, outcome, code, body, status];
  await db.query({ name: 'record', text: RECORD, values });
}
