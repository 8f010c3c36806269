// The baseline: what a TypeScript team would write instead of using the service. Fastify, BullMQ on Redis for the
// deliveries and their retries, PostgreSQL for what is to be looked at later.
//
//   node main.ts '{"databaseUrl":"postgres://…","redisPort":6379,"key":"…"}'     prints its URL
import { hash } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { Queue } from 'bullmq';
import { Pool } from 'pg';
import { createServer } from './accept.ts';
import { QUEUE, startWorker, type DeliveryJob } from './deliver.ts';
import { SCHEMA } from './schema.ts';
import { Subscriptions } from './subscriptions.ts';

/** More than both sides keep busy at a time on a few cores; the default of 10 is less than the worker alone wants. */
const DATABASE_CONNECTIONS = 20;

const { databaseUrl, redisPort, key } = JSON.parse(process.argv[2]!) as {
  databaseUrl: string;
  redisPort: number;
  key: string;
};
const db = new Pool({ connectionString: databaseUrl, max: DATABASE_CONNECTIONS });
await db.query(SCHEMA);
await db.query('INSERT INTO api_keys VALUES ($1)', [hash('sha256', key, 'buffer')]);
const connection = { host: '127.0.0.1', port: redisPort, maxRetriesPerRequest: null };
const queue = new Queue<DeliveryJob>(QUEUE, { connection });
const server = createServer({ db, queue, subscriptions: new Subscriptions(db) });
const worker = startWorker({ db, connection });
worker.on('error', (error) => console.error(error));
await server.listen({ host: '127.0.0.1', port: 0 });
const { port } = server.server.address() as AddressInfo;
console.log(JSON.stringify({ event: 'started', url: `http://127.0.0.1:${port}` }));
