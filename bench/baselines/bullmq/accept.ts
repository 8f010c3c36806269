// POST /v1/events of the baseline: who calls, is the shape right, store, one BullMQ job for each delivery, 202.
//
// PostgreSQL and Redis commit one after the other. If the process dies in between, the deliveries are in the table and
// in no queue: a team would add an outbox or a sweeper for that, which would cost it more than what is measured here.
import { hash, randomUUID } from 'node:crypto';
import type { Queue } from 'bullmq';
import Fastify, { type FastifyInstance } from 'fastify';
import type { Pool } from 'pg';
import type { DeliveryJob } from './deliver.ts';
import type { Subscriptions } from './subscriptions.ts';

/** The service's own default schedule has ten attempts too. */
const ATTEMPTS = 10;
const BODY_BYTES_MAX = 262_144;

const EVENT = {
  type: 'object',
  additionalProperties: false,
  required: ['type', 'body'],
  properties: {
    type: { type: 'string', maxLength: 256, pattern: '^[A-Za-z0-9_-]{1,64}(\\.[A-Za-z0-9_-]{1,64}){1,9}$' },
    body: { type: 'object' },
    idempotency_key: { type: 'string', minLength: 1, maxLength: 255 },
  },
};

// One round trip and one commit for the event and its deliveries.
const INSERT = `
  WITH event AS (INSERT INTO events (id, type, body, idempotency_key) VALUES ($1, $2, $3, $4))
  INSERT INTO deliveries (id, event_id, destination_id, status)
  SELECT d.id, $1, d.destination_id, 'pending' FROM unnest($5::uuid[], $6::uuid[]) AS d(id, destination_id)`;

type EventRequest = { type: string; body: object; idempotency_key?: string };

export function createServer(options: { db: Pool; queue: Queue<DeliveryJob>; subscriptions: Subscriptions }) {
  const { db, queue, subscriptions } = options;
  const app = Fastify({ bodyLimit: BODY_BYTES_MAX });
  authenticate(app, db);
  app.post<{ Body: EventRequest }>('/v1/events', { schema: { body: EVENT } }, async (request, reply) => {
    const { type, body, idempotency_key: idempotencyKey = null } = request.body;
    const id = randomUUID();
    const deliveries = (await subscriptions.of(type)).map((subscriber) => ({ id: randomUUID(), ...subscriber }));
    const columns = [deliveries.map((one) => one.id), deliveries.map(({ destinationId }) => destinationId)];
    const data = JSON.stringify(body);
    await db.query({ name: 'accept', text: INSERT, values: [id, type, data, idempotencyKey, ...columns] });
    const payload = `{"id":"${id}","type":"${type}","timestamp":"${new Date().toISOString()}","data":${data}}`;
    await queue.addBulk(
      deliveries.map(({ id: deliveryId, url, secret }) => ({
        name: 'deliver',
        data: { deliveryId, eventId: id, url, secret, payload },
        opts: { attempts: ATTEMPTS, backoff: { type: 'custom' }, removeOnComplete: true, removeOnFail: 10_000 },
      })),
    );
    reply.code(202);
    return {
      event_id: id,
      type,
      deliveries: deliveries.map((one) => ({ id: one.id, destination_id: one.destinationId, status: 'pending' })),
    };
  });
  return app;
}

/** Keys are hashed, and those that were found once are kept. */
function authenticate(app: FastifyInstance, db: Pool): void {
  const known = new Set<string>();
  app.addHook('onRequest', async (request, reply) => {
    const digest = hash('sha256', (request.headers.authorization ?? '').replace('Bearer ', ''), 'hex');
    if (known.has(digest)) return;
    const { rowCount } = await db.query('SELECT 1 FROM api_keys WHERE hash = $1', [Buffer.from(digest, 'hex')]);
    if (rowCount === 1) return void known.add(digest);
    return reply.code(401).send({ error: { code: 'unauthorized', message: 'no such key' } });
  });
}
