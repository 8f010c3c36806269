import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { parseRequestJson, RawObject, type BodyShape, type JsonItem } from '../../src/api/input/request-json.ts';
import { ApiError } from '../../src/model/error.ts';

const parse = (text: string | Buffer, shape: BodyShape = {}) => parseRequestJson(Buffer.from(text), shape);

/** The error that a text is refused with. */
function refusal(text: string | Buffer, shape: BodyShape = {}): ApiError {
  try {
    parse(text, shape);
  } catch (error) {
    assert.ok(error instanceof ApiError);
    assert.equal(error.code, 'invalid_request');
    return error;
  }
  return assert.fail(`accepted: ${String(text)}`);
}

const nested = (levels: number): string => '{"a":'.repeat(levels - 1) + '{}' + '}'.repeat(levels - 1);

test('parses what JSON.parse parses, to the same value', () => {
  const object = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 5 }));
  fc.assert(
    fc.property(object, fc.constantFrom(0, 1, '\t'), (value, space) => {
      const text = JSON.stringify(value, null, space);
      assert.deepEqual(parse(text), JSON.parse(text));
    }),
    { numRuns: 1_000 },
  );
});

test('__proto__ is a name like any other, on every level', () => {
  const value = parse('{"__proto__":{"__proto__":1},"a":{"__proto__":2}}');
  assert.deepEqual(Object.keys(value), ['__proto__', 'a']);
  assert.deepEqual(JSON.stringify(value), '{"__proto__":{"__proto__":1},"a":{"__proto__":2}}');
});

test('a raw member is kept byte for byte, whatever surrounds it and however its name is written', () => {
  const raw = '{ "n": 1.0,\n "big":12345678901234567890, "e":"\\u00e9\\ud800", "d":1, "d":2 }';
  const value = parse(`{"type":"a.b" , "b\\u006fdy" : ${raw} ,"x":[1]}`, { raw: 'body', isRawOpaque: true });
  assert.ok(value.body instanceof RawObject);
  assert.equal(value.body.text(), raw);
  assert.equal(Buffer.from(value.body.keptBytes()).toString(), raw);
  assert.deepEqual([value.type, value.x], ['a.b', [1]]);
});

test('a raw member that is no object is parsed, for validation to refuse', () => {
  assert.deepEqual(parse('{"body":[{"a":1}]}', { raw: 'body' }), { body: [{ a: 1 }] });
  assert.deepEqual(parse('{"body":null}', { raw: 'body' }), { body: null });
});

test('kept bytes hold on to no more than 512 bytes of the request, wherever they stand in it', () => {
  fc.assert(
    fc.property(fc.nat(2_000), fc.nat(2_000), fc.boolean(), (before, after, isShared) => {
      const raw = '{"a":1}';
      const text = `{"b":"${'x'.repeat(before)}","body":${raw},"c":"${'x'.repeat(after)}"}`;
      // As a part of a larger buffer, or in one of its own.
      const bytes = isShared
        ? Buffer.from(` ${text}`).subarray(1)
        : Buffer.from(Uint8Array.from(Buffer.from(text)).buffer);
      const kept = (parseRequestJson(bytes, { raw: 'body' }).body as RawObject).keptBytes();
      assert.equal(Buffer.from(kept).toString(), raw);
      assert.ok(kept.buffer.byteLength <= raw.length + 512);
    }),
  );
});

test('refuses a byte order mark, invalid UTF-8 and malformed JSON, and says where', () => {
  assert.match(refusal('\ufeff{}').message, /byte order mark/);
  assert.match(refusal(Buffer.from([0x7b, 0xff, 0x7d])).message, /UTF-8/);
  assert.match(refusal(Buffer.from('{"a":"\xed\xa0\x80"}', 'latin1')).message, /UTF-8/);
  assert.match(refusal('{"a": 1,\n "b": tru}').message, /true is expected at byte 18 \(line 2, column 10\)/);
  assert.match(refusal('{"a":\n"é😀",\n"ü": tru}').message, /at byte 25 \(line 3, column 9\)/);
  assert.match(refusal('\n\n').message, /it ends too early at byte 2 \(line 3, column 1\)/);
  assert.match(refusal('x').message, /at byte 0 \(line 1, column 1\)/);
  assert.match(refusal('{"a":1').message, /ends too early/);
  assert.match(refusal('{} {}').message, /nothing more is expected at byte 3/);
});

test('refuses what is not an object', () => {
  for (const text of ['[]', 'null', '"a"', '1', 'true', ' [ {} ] ']) assert.match(refusal(text).message, /object/);
  assert.match(refusal(' ').message, /ends too early/);
});

test('refuses a name that comes twice on the top level, also when it is escaped differently', () => {
  assert.equal(refusal('{"type":1,"type":1}').param, '/type');
  assert.equal(refusal('{"type":1,"t\\u0079pe":1}').param, '/type');
  assert.equal(refusal('{"a/b~c":1,"a/b~c":1}').param, '/a~1b~0c');
  assert.equal(refusal('{"body":{},"body":{}}', { raw: 'body' }).param, '/body');
  assert.equal(refusal('{"__proto__":1,"__proto__":1}').param, '/__proto__');
  assert.deepEqual(parse('{"a":{"b":1,"b":2}}'), { a: { b: 2 } });
});

test('64 levels of nesting are possible, 65 are not, in parsed and in raw members', () => {
  for (const shape of [{}, { raw: 'a', isRawOpaque: true }]) {
    parse(nested(64), shape);
    assert.equal(refusal(nested(65), shape).param, '/a');
    assert.equal(refusal(nested(20_000), shape).param, '/a');
    parse(`{"a":[${'['.repeat(62)}${']'.repeat(62)}]}`, shape);
    assert.equal(refusal(`{"a":[${'['.repeat(63)}${']'.repeat(63)}]}`, shape).param, '/a');
  }
});

test('refuses half of a surrogate pair, but not in an opaque member', () => {
  for (const half of ['\\ud800', '\\udc00', '\\ud800\\ud800', '\\udc00\\ud800', '\\ud83dx', '\\ud83d\\n']) {
    assert.equal(refusal(`{"a":["${half}"]}`).param, '/a');
    assert.equal(refusal(`{"a":{"b":"${half}"}}`, { raw: 'a' }).param, '/a');
    assert.match(refusal(`{"${half}":1}`).message, /surrogate/);
    parse(`{"a":{"b":"${half}","${half}":1}}`, { raw: 'a', isRawOpaque: true });
  }
  assert.deepEqual(parse('{"a":"\\ud83d\\ude00"}'), { a: '😀' });
  // A half inside the opaque member is no fault of what comes after it.
  parse('{"a":{"b":"\\ud800"},"c":"fine"}', { raw: 'a', isRawOpaque: true });
});

test('refuses a whole number that a double cannot hold, which would become another, and one that is too large', () => {
  for (const number of ['1e999', '-1e999', '9007199254740993', '-12345678901234567890']) {
    const { param, message } = refusal(`{"a":{"b":[${number}]}}`);
    assert.equal(param, '/a');
    assert.ok(message.includes(number) && message.endsWith('or a string where one is allowed'), message);
  }
  assert.ok(refusal(`{"a":${'9'.repeat(10_000)}}`).message.length < 300);
  assert.deepEqual(parse('{"a":[1e308,1.0,0.10000000000000001,-0,9007199254740992,18446744073709551616]}'), {
    a: [1e308, 1, 0.1, -0, 2 ** 53, 2 ** 64],
  });
});

const EVENT: BodyShape = { raw: 'body', isRawOpaque: true, isFlat: true };
const BATCH: BodyShape = { isFlat: true, items: { name: 'events', shape: EVENT, max: 7 } };

test('each item of a list has its own fault, and leaves the others alone', () => {
  const items = [
    '{"type":"a.b","body":{"x":1.0}}',
    '{"type":"a.b","type":"a.b","body":{}}',
    '7',
    `{"body":${nested(64)}}`,
    `{"body":${nested(63)}}`,
    '{"type":"\\ud800","body":{}}',
    '{"type":"c.d","body":{}}',
  ];
  const { events } = parse(`{"events":[${items.join(' , ')}]}`, BATCH) as { events: JsonItem[] };
  assert.deepEqual(
    events.map(({ fault }) => fault?.param ?? null),
    [null, '/type', '', '/body', null, '/type', null],
  );
  assert.equal(((events[0]!.value as { body: unknown }).body as RawObject).text(), '{"x":1.0}');
  assert.deepEqual(
    events.map(({ byteLength }) => byteLength),
    items.map((item) => item.length),
  );
});

test('a fault around the items is the fault of the request', () => {
  assert.equal(refusal('{"events":[{}],"events":[{}]}', BATCH).param, '/events');
  assert.match(refusal('{"events":[{"a":}]}', BATCH).message, /JSON value is expected/);
  assert.deepEqual(parse('{"events":[ ]}', BATCH), { events: [] });
});

test('of more items than there may be, one is made', () => {
  const { events } = parse(`{"events":[${'[],'.repeat(1_000_000)}{"type":"a.b"}]}`, BATCH) as { events: JsonItem[] };
  assert.equal(events.length, 8);
  assert.match(refusal(`{"events":[${'[],'.repeat(10)}}]}`, BATCH).message, /JSON value is expected/);
});

test('nothing is made of what is in an object or array that is refused whatever is in it', () => {
  const junk = '[[1,"\\ud800"],{"a":1}]';
  const { events, x } = parse(`{"events":[{"type":${junk},"body":${junk}}],"x":${junk}}`, BATCH) as {
    events: JsonItem[];
    x: unknown;
  };
  assert.deepEqual([events[0]!.value, events[0]!.fault, x], [{ type: [], body: [] }, null, []]);
  assert.deepEqual(parse('{"type":{"a":1}}', EVENT), { type: {} });
});

test('more fields than any request has are refused, and no more is made of them', () => {
  const fields = Array.from({ length: 65 }, (_, i) => `"f${i}":1`);
  assert.equal(refusal(`{${fields.join(',')}}`).param, '/f64');
  assert.equal(Object.keys(parse(`{${fields.slice(1).join(',')}}`)).length, 64);
});

test('of what is refused already not even names are read', ({ mock }) => {
  const read = mock.method(JSON, 'parse');
  const fields = Array.from({ length: 1_000 }, (_, i) => `"\\u0066${i}":1`).join(',');
  assert.equal(refusal(`{${fields}}`).param, '/f64');
  assert.equal(read.mock.callCount(), 65);
  assert.match(refusal(`{"a":1,"a":1,b":1}`).message, /member name in double quotes is expected/);
});

test('names in messages are cut', () => {
  const name = 'n'.repeat(60_000);
  const { message, param } = refusal(`{"${name}":1,"${name}":1}`);
  assert.ok(message.length < 200 && param!.length < 200);
});
