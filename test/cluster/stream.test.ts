// A stream has all messages of its environment, whichever node it is open on and whichever node they come from, and
// goes on on another node where it ended.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { hold } from '../e2e/receiver.ts';
import type { Service } from '../e2e/service.ts';
import type { PostgresServer } from '../store/postgres/server.ts';
import { sharedPostgres } from '../store/postgres/shared.ts';
import { openStream, type StreamReader } from '../support/stream-reader.ts';
import { startStage } from './stage.ts';

describe('a stream in a cluster', () => {
  let server: PostgresServer;
  before(async () => {
    server = await sharedPostgres();
  });
  after(() => server.stop());

  test('has what every node does', async (t) => {
    const stage = await startStage(t, server, 2);
    const [first, second] = stage.nodes as [Service, Service];
    const receiver = await stage.receiver();
    for (const node of stage.nodes) await stage.destinationOf(node, receiver, 'streamed.*');
    const open = async (node: Service, query: string, lastId?: string): Promise<StreamReader> => {
      const key = stage.key;
      const reader = await openStream({
        baseUrl: node.url,
        key,
        query,
        ...(lastId === undefined ? {} : { lastId }),
      });
      t.after(() => reader.close());
      return reader;
    };
    const publish = async (count: number, type: string): Promise<string[]> => {
      const ids: string[] = [];
      for (let n = 0; n < count; n++) {
        ids.push((await stage.api(stage.nodes[n % 2]!).publish(type, { n })).event_id);
      }
      return ids;
    };

    // Each node hears of the destinations just made when it does.
    const wanted = 20 * 7;
    const isWhole = (stream: StreamReader): boolean => stream.messages.length >= wanted;
    const hasGap = (stream: StreamReader): boolean => stream.messages.some(({ event }) => event === 'gap');
    let streams: [StreamReader, StreamReader];
    for (let round = 1; ; round++) {
      // Of its own type: the last messages of a round before may come to one node when the next has begun.
      const type = `streamed.round_${round}`;
      const query = `kinds=event,delivery,attempt&bodies=true&event_type=${type}`;
      streams = await Promise.all([open(first, query), open(second, query)]);
      await publish(20, type);
      // An event, two deliveries, and for each an attempt and its end.
      await Promise.all(streams.map((stream) => stream.until(() => isWhole(stream) || hasGap(stream))));
      if (!streams.some(hasGap)) break;
      // A node that is too busy to answer in two seconds is not waited for: its messages may be missing, and they are.
      for (const stream of streams) stream.close();
    }
    const [here, there] = streams.map(({ messages }) => new Map(messages.map((message) => [message.id, message])));
    assert.deepEqual(here, there, 'the same messages under the same ids');
    assert.equal(here!.size, wanted);
    const bodies = [...here!.values()].filter(({ event }) => event === 'event').map(({ data }) => data['body']);
    assert.equal(bodies.filter((body) => body !== null).length, 20);

    await t.test('a change of a destination, once on each node, under the same id', async () => {
      const changes = await Promise.all(stage.nodes.map((node) => open(node, 'kinds=destination')));
      const ids: string[] = [];
      for (const node of stage.nodes) ids.push((await stage.api(node).destination(`${receiver.url}new`)).id);
      for (const stream of changes) {
        await stream.until(() => ids.every((id) => stream.messages.some(({ data }) => data['id'] === id)));
        for (const id of ids) assert.equal(stream.messages.filter(({ data }) => data['id'] === id).length, 1);
      }
      const [these, those] = changes.map(({ messages }) => {
        const made = messages.filter(({ data }) => ids.includes(data['id'] as string));
        return new Map(made.map((message) => [message.id, message.data]));
      });
      assert.deepEqual(these, those);
    });

    await t.test('goes on on a node that had no stream before', async () => {
      const third = await stage.addNode();
      const lastId = streams[0].messages.filter(({ event }) => event === 'event').at(-1)!.id;
      for (const stream of streams) stream.close();
      const { id: destination } = await stage.api(second).destination(`${receiver.url}later`);
      const published = await publish(3, 'streamed.later');
      const events = await open(third, 'kinds=event,destination', lastId);
      // Where the others are too busy to answer in time, a gap says so first; and the last second comes once more.
      const listNew = (): unknown[] =>
        events.messages.map(({ data }) => data['event_id']).filter((id) => published.includes(id as string));
      await events.until(() => listNew().length >= 3);
      assert.equal(listNew().length, 3);
      assert.deepEqual(new Set(listNew()), new Set(published));
      await events.until(() => events.messages.some(({ data }) => data['id'] === destination));
    });
  });

  test('has what a node does that has just come', async (t) => {
    const stage = await startStage(t, server, 1);
    const stream = await openStream({ baseUrl: stage.nodes[0]!.url, key: stage.key, query: 'kinds=event' });
    t.after(() => stream.close());
    const second = await stage.addNode();
    const { event_id: id } = await stage.api(second).publish('streamed.soon', {});
    await stream.until(() => stream.messages.some(({ data }) => data['event_id'] === id));
  });

  test('has what a node records while it stops, and a gap where one dies', async (t) => {
    const stage = await startStage(t, server, 3, { NODE_LEASE: '2s' });
    const [first, second, third] = stage.nodes as [Service, Service, Service];
    const receiver = await stage.receiver(hold);
    await stage.destinationOf(second, receiver, 'streamed.last');
    const stream = await openStream({ baseUrl: first.url, key: stage.key, query: 'kinds=attempt' });
    t.after(() => stream.close());
    await stage.api(second).publish('streamed.last', { n: 1 });
    const onWire = await receiver.arrival(() => true);
    const stopped = second.stop();
    await stage.api(first).eventually(
      () => stage.report(first),
      ({ data }) => data.some(({ is_leaving: isLeaving }) => isLeaving),
    );
    onWire.answer(200);
    const [attempt] = await stream.first(1, 'attempt');
    assert.equal(attempt!.data['delivery_id'], onWire.deliveryId);
    assert.equal((await stopped).code, 0);

    const gapsBefore = stream.messages.filter(({ event }) => event === 'gap').length;
    await third.kill();
    const gaps = await stream.first(gapsBefore + 1, 'gap');
    assert.deepEqual(gaps.at(-1)!.data, { missed: null });
  });
});
