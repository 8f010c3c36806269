// A stream of the running service: attempts and what becomes of deliveries, and what a stop and a start do to it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openStream, type StreamReader } from '../support/stream-reader.ts';
import { Api } from './api.ts';
import { startReceiver } from './receiver.ts';
import { startService } from './service.ts';

test('a delivery that fails, is retried and succeeds', async (t) => {
  const service = await startService(t);
  const api = new Api(service);
  const receiver = await startReceiver(t, (request) => request.answer(receiver.requests.length === 1 ? 500 : 200));
  const options = { retry_policy: { schedule_seconds: [1], jitter: 0 } };
  const destination = await api.subscribed(receiver.url, 'streamed.once', options);
  const stream = await openStream({ baseUrl: service.url, key: service.key, query: 'event_type=streamed.*' });
  const id = await api.publishToOne('streamed.once');
  await stream.first(6);

  const read = await api.deliveryEnds(id);
  const { retries, ...row } = read;
  assert.deepEqual(kindsOf(stream), ['event', 'delivery', 'attempt', 'delivery', 'attempt', 'delivery']);
  const [, created, first, retrying, second, ended] = stream.messages;
  assert.equal(created!.data['status'], 'pending');
  assert.deepEqual(first!.data, { delivery_id: id, ...retries[0] });
  assert.deepEqual([retrying!.data['status'], retrying!.data['response_codes']], ['retrying', [500]]);
  assert.deepEqual(second!.data, { delivery_id: id, ...retries[1] });
  assert.deepEqual(ended!.data, row);

  await t.test('attempts are filtered by what became of their delivery', async () => {
    const failing = await openStream({
      baseUrl: service.url,
      key: service.key,
      query: `status=retrying&destination_id=${destination.id}`,
      lastId: stream.messages[0]!.id,
    });
    assert.deepEqual(await failing.first(2), [first, retrying]);
    failing.close();
  });

  await t.test('a stop ends the stream at once, and after a start it begins with a gap', async () => {
    const { code } = await service.stop();
    await stream.ended();
    assert.equal(code, 0);
    await service.start();
    const lastId = stream.messages.at(-1)!.id;
    const after = await openStream({ baseUrl: service.url, key: service.key, lastId });
    assert.deepEqual((await after.first(1))[0]!.data, { missed: null });
    after.close();
  });
});

function kindsOf({ messages }: StreamReader): string[] {
  return messages.map(({ event }) => event);
}
