// The limit that throughput is held against: a bare node:http server that parses each event, answers, signs it and
// forwards it with undici. It stores nothing, checks nothing and forgets everything: what is left is the cost of HTTP
// in and out, JSON and HMAC, which no service that delivers webhooks in this process can go below.
//
//   node bench/limit.ts '{"to":"http://127.0.0.1:9000","paths":["/ok"]}'     prints its URL
import { createHmac, createSecretKey, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool, type Dispatcher } from 'undici';

const CONNECTIONS_MAX = 50;

const { to, paths } = JSON.parse(process.argv[2]!) as { to: string; paths: string[] };
const pool = new Pool(to, { connections: CONNECTIONS_MAX, pipelining: 1 });
const key = createSecretKey(randomBytes(32));
let lastId = 0;

const ignore: Dispatcher.DispatchHandler = {
  onRequestStart() {},
  onResponseStart() {},
  onResponseData() {},
  onResponseEnd() {},
  onResponseError() {},
};

function forward(event: { type: string; body: unknown }): void {
  const id = `evt_${++lastId}`;
  const payload = JSON.stringify({ id, type: event.type, timestamp: new Date().toISOString(), data: event.body });
  const seconds = Math.floor(Date.now() / 1000);
  for (const path of paths) {
    const signature = createHmac('sha256', key).update(`${id}.${seconds}.${payload}`).digest('base64');
    const headers = [
      'content-type',
      'application/json',
      'webhook-id',
      id,
      'webhook-timestamp',
      String(seconds),
      'webhook-signature',
      `v1,${signature}`,
    ];
    pool.dispatch({ path, method: 'POST', headers, body: payload }, ignore);
  }
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const event = JSON.parse(Buffer.concat(chunks).toString()) as { type: string; body: unknown };
    const answer = JSON.stringify({ event_id: `evt_${lastId}`, type: event.type, deliveries: [] });
    response.writeHead(202, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) });
    response.end(answer);
    forward(event);
  });
});
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ event: 'started', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }));
});
