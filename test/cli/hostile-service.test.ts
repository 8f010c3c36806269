// Commands that ask what is no Postrider, or one that somebody else has written: what it says stays text.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { environmentOf } from '../e2e/service.ts';
import { Prompt } from './lines.ts';

const KEY = `pr_test_${'0'.repeat(36)}`;
const prompt = new Prompt(environmentOf({}));
after(() => prompt.close());

test('what a service says does not act on a terminal, ids included', async (t) => {
  const evil = '\u001b]0;x\u0007\u202e';
  const named = { id: evil, subscription_id: evil, destination_id: evil };
  const subscription = { ...named, matches: true, pattern_matches: true, filter: [] };
  const event = { event_id: evil, type: 'a.b', deliveries: [named] };
  const answer = { ...event, data: [named], subscriptions: [subscription], ...named, secret: evil, scopes: [evil] };
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const where = ['--url', `http://127.0.0.1:${(server.address() as AddressInfo).port}`, '--key', KEY];
  for (const argv of [
    ['publish', 'a.b'],
    ['explain', 'a.b'],
    ['events', 'replay', 'evt_1'],
    ['keys', 'create', '--mode', 'test'],
  ]) {
    const { code, stdout } = await prompt.run([...argv, ...where]);
    assert.equal(code, 0, argv.join(' '));
    assert.match(stdout, /\\u001b\]0;x\\u0007\\u202e/, argv.join(' '));
    assert.ok(!['\u001b', '\u0007', '\u202e'].some((char) => stdout.includes(char)), stdout);
  }
});
