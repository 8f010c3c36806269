// The OpenAPI document as a whole: what linters and generators of clients make of it, and whether what it says of
// requests is what is enforced. That answers are as it says is held by contract.ts with every call of every test.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import * as fc from 'fast-check';
import type { OpenapiDocument } from '../../src/api/openapi/document.ts';
import { findPatternFault, isEventType } from '../../src/model/event-type.ts';
import { ERRORS } from '../../src/model/error.ts';
import { startApi, type Api, type Json } from './harness.ts';

const BYTES_MAX = 160_000;

let api: Api;
let document: OpenapiDocument;
let text: string;
before(async () => {
  api = await startApi();
  text = (await api.expect(200, 'GET', '/openapi.json', { key: null })).text;
  document = JSON.parse(text) as OpenapiDocument;
});
after(() => api.close());

type Operation = {
  operationId: string;
  tags: string[];
  security: unknown[];
  parameters?: { name: string; description?: string }[];
  responses: Record<string, Json>;
};

function operations(): (Operation & { path: string; method: string })[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, ...(operation as Operation) })),
  );
}

/** Every object in the document, with where it is. */
function* parts(node: unknown = document, place = '#'): Generator<[place: string, part: Json]> {
  if (typeof node !== 'object' || node === null) return;
  if (!Array.isArray(node)) yield [place, node as Json];
  for (const [name, child] of Object.entries(node)) yield* parts(child, `${place}/${name}`);
}

test('the linter has no complaint by its strict rules', async () => {
  const config = await createConfig({ extends: ['recommended-strict'] });
  const lint = (source: string) => lintFromString({ source, absoluteRef: 'openapi.json', config });
  assert.deepEqual(
    (await lint(text)).map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]),
    [],
  );
  const broken = await lint(JSON.stringify({ ...document, servers: [] }));
  assert.deepEqual(
    broken.map(({ ruleId }) => ruleId),
    ['no-empty-servers'],
  );
});

test('it is short: what is said twice is a reference', () => {
  assert.ok(Buffer.byteLength(text) < BYTES_MAX, `${Buffer.byteLength(text)} bytes`);
  for (const { operationId, responses } of operations()) {
    for (const [status, response] of Object.entries(responses)) {
      if (Number(status) >= 400) assert.deepEqual(Object.keys(response), ['$ref'], `${operationId} ${status}`);
    }
  }
});

test('every error is of the one schema, which has all its members', () => {
  const { schemas, responses } = document.components as Record<string, Record<string, Json>>;
  const details = schemas!.ErrorDetails as { properties: object };
  assert.deepEqual(Object.keys(details.properties), ['code', 'message', 'request_id', 'param', 'operation_id']);
  const named = new Set<string>();
  for (const [name, response] of Object.entries(responses!)) {
    const { schema, examples } = (response.content as Record<string, { schema: Json; examples: Json }>)[
      'application/json'
    ]!;
    assert.deepEqual(schema, { $ref: '#/components/schemas/Error' }, name);
    for (const code of Object.keys(examples)) {
      assert.ok((response.description as string).includes(`\`${code}\``), `${name} does not describe ${code}`);
      named.add(code);
    }
  }
  assert.deepEqual([...named].sort(), Object.keys(ERRORS).sort());
});

test('every operation has an id of its own, tags that are described, security, and the answers of HTTP itself', () => {
  const { tags, webhooks } = document as unknown as {
    tags: { name: string; description: string }[];
    webhooks: Record<string, { post: Operation }>;
  };
  const all = operations();
  assert.equal(new Set(all.map(({ operationId }) => operationId)).size, all.length);
  for (const { path, operationId, security, responses } of all) {
    assert.equal(security.length, path.startsWith('/v1/') ? 1 : 0, path);
    for (const status of [405, 408, 431]) assert.ok(responses[status] !== undefined, `${operationId} ${status}`);
  }
  const used = [...all, ...Object.values(webhooks).map(({ post }) => post)].flatMap((operation) => operation.tags);
  assert.deepEqual([...new Set(used)].sort(), tags.map(({ name }) => name).sort());
});

test('an enum stands alone, under a name where it is used twice, and null beside it', () => {
  const places = new Map<string, string>();
  for (const [place, part] of parts()) {
    if (!Array.isArray(part.enum)) continue;
    assert.ok(!part.enum.includes(null), `${place} has null among its values`);
    // In the DLQ the parameter `status` means something else, and says so.
    if (place.includes('/v1/dlq')) continue;
    const values = JSON.stringify(part.enum);
    assert.equal(places.get(values), undefined, `${place} has the values of ${places.get(values)}`);
    places.set(values, place);
  }
});

test('null is where openapi-generator sees it: not in a type beside an object, nor beside a reference to text', () => {
  const { schemas } = document.components as { schemas: Record<string, Json> };
  let seen = 0;
  for (const [place, { type, anyOf }] of parts()) {
    if (Array.isArray(type)) assert.ok(!type.includes('object'), place);
    if (anyOf === undefined) continue;
    const [value, none] = anyOf as Json[];
    assert.deepEqual(none, { type: 'null' }, place);
    const named = schemas[String(value!.$ref).split('/').at(-1)!];
    assert.ok(named === undefined || named.type !== 'string' || named.enum !== undefined, `${place} leads to text`);
    seen++;
  }
  assert.ok(seen > 10);
});

test('what lies ahead has an example that does', () => {
  const now = Date.now();
  for (const [place, part] of parts()) {
    if (!/\/(expires_at|previous_expires_at|next_attempt_at)$/.test(place)) continue;
    const [example] = part.examples as string[];
    assert.ok(Date.parse(example!) > now, `${place}: ${example} is over`);
  }
});

test('the DLQ says that `status` does not filter it', () => {
  const list = operations().find(({ operationId }) => operationId === 'listDeadDeliveries')!;
  const status = list.parameters!.find(({ name }) => name === 'status')!;
  assert.match(status.description!, /^Does not filter/);
});

describe('a request that the document refuses is refused, and what it takes is taken:', () => {
  let isValid: (schema: string, value: unknown) => boolean;
  before(() => {
    const ajv = new Ajv2020({ strict: false });
    addFormats.default(ajv);
    ajv.addSchema(document, 'document');
    isValid = (schema, value) => ajv.getSchema(`document#/components/schemas/${schema}`)!(value) as boolean;
  });

  const agree = async (schema: string, path: string, body: Json, expected: boolean): Promise<void> => {
    const { status, text: answer } = await api.call('POST', path, { body });
    const isTaken = status < 300;
    const shown = JSON.stringify(body);
    assert.deepEqual([isTaken, isValid(schema, body)], [expected, expected], `${shown}: ${answer}`);
  };

  const policies: [Json, boolean][] = [
    [{}, true],
    [{ timeout_seconds: 5 }, true],
    [{ schedule_seconds: [] }, true],
    [{ schedule_seconds: [1, 2], jitter: 0 }, true],
    [{ factor: 2 }, true],
    [{ max_attempts: 3, initial_seconds: 1, factor: 2, max_seconds: 9, jitter: 1, timeout_seconds: 1 }, true],
    [{ schedule_seconds: [1], max_attempts: 3 }, false],
    [{ schedule_seconds: [], factor: 2 }, false],
    [{ schedule_seconds: [0] }, false],
    [{ attempts: 3 }, false],
  ];
  for (const [policy, expected] of policies) {
    test(`a retry policy ${JSON.stringify(policy)}`, () =>
      agree('DestinationInput', '/v1/destinations', { url: 'https://example.com/', retry_policy: policy }, expected));
  }

  const times: [string, boolean][] = [
    ['2099-12-31', true],
    ['2099-12-31T23:59Z', true],
    ['2099-12-31t23:59:59.123456+02:00', true],
    ['2099-12-31T23:59', false],
    ['2099-12-31T23Z', false],
    ['31.12.2099', false],
    ['', false],
  ];
  for (const [time, expected] of times) {
    test(`a time ${JSON.stringify(time)}`, () => agree('ApiKeyInput', '/v1/api-keys', { expires_at: time }, expected));
  }

  test('an empty filter, and one that is not', async () => {
    const { json } = await api.expect(201, 'POST', '/v1/destinations', { body: { url: 'https://example.com/' } });
    for (const [filter, expected] of [
      [{}, false],
      [{ '$.a': 1 }, true],
      [null, true],
    ] as const) {
      const body = { destination_id: json.id as string, event_type: 'order.*', filter };
      await agree('SubscriptionInput', '/v1/subscriptions', body, expected);
    }
  });

  test('event types and patterns, of any text', () => {
    const piece = fc.oneof(
      fc.constantFrom('.', '*', '**', 'a', 'order', '-_9', '', ' ', 'ä', 's'.repeat(64)),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 21 }), (pieces) => {
        for (const value of [pieces.join(''), pieces.join('.')]) {
          assert.equal(isValid('EventType', value), isEventType(value), value);
          assert.equal(isValid('EventTypePattern', value), findPatternFault(value) === null, value);
        }
      }),
    );
  });
});
