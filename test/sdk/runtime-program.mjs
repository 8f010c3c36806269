// Run by each runtime in turn (`npm run test:runtimes`): what the client does there, with nothing but the platform.
// Arguments: the service, a proxy before it, a key. Prints nothing but what went wrong. A worker has no arguments, and may
// ask nobody before it is called: it calls `main`.
import { ConnectionError, InvalidEventTypeError, Postrider, TimeoutError, webhooks } from '@postrider/client';

function assert(holds, what) {
  if (!holds) throw new Error(`not so: ${what}`);
}

async function rejects(work, kind) {
  const error = await work.then(
    () => null,
    (reason) => reason,
  );
  assert(error instanceof kind, `${kind.name}, but ${error}`);
  return error;
}

export async function main([baseUrl, proxyUrl, apiKey]) {
  const client = new Postrider({ apiKey, baseUrl });
  const event = await client.events.publish({ type: 'run.once', body: { note: 'Grüße 🎉' } });
  assert((await client.events.get(event.event_id)).body.note === 'Grüße 🎉', 'the body');
  const results = await client.events.publishBatch([
    { type: 'run.once', body: {} },
    { type: 'run', body: {} },
  ]);
  assert(results[0].event && results[1].error instanceof InvalidEventTypeError, 'a batch');
  let walked = 0;
  for await (const { type } of client.events.list({ type: 'run.*', limit: 1 })) if (type === 'run.once') walked++;
  assert(walked >= 2, 'a walk');

  // The proxy cuts the first request of each of these.
  const retrying = new Postrider({ apiKey, baseUrl: proxyUrl });
  await retrying.events.publish({ type: 'run.retried', body: {} });
  await rejects(retrying.destinations.create({ url: `${proxyUrl}/hook` }), ConnectionError);
  await rejects(retrying.stats.now({ timeoutMs: 300 }), TimeoutError);
  await rejects(client.stats.now({ signal: AbortSignal.abort(new RangeError('enough')) }), RangeError);

  const kinds = [];
  const stream = client.stream(
    { kinds: ['event'], bodies: true },
    { onConnect: () => void client.events.publish({ type: 'run.streamed', body: { n: 1 } }) },
  );
  for await (const message of stream) {
    kinds.push(message.kind);
    if (message.data.body?.n === 1) break;
  }
  assert(kinds.at(-1) === 'event', 'a stream');

  // Nobody listens there; what was signed for it is shown all the same.
  const destination = await client.destinations.create({ url: 'http://127.0.0.1:1099/' });
  const { request } = await client.destinations.test(destination.id, { type: 'run.verified' });
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, values]) => [name, values.join()]));
  delete headers['content-length'];
  const sent = new Request('http://receiver/', { method: 'POST', headers, body: request.body });
  assert((await webhooks.verify(sent, destination.signing_secret)).type === 'run.verified', 'a signature');
  await client.destinations.delete(destination.id);
}

const [, , ...argv] = globalThis.process?.argv ?? [];
if (argv.length > 0) await main(argv);
