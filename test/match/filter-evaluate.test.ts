// What filters accept, as it is written plainly and as it is done for many filters at once.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { jsonpath } from 'json-p3';
import { parseBody } from '../../src/json/body.ts';
import { filterAccepts } from './plainly.ts';
import { isFilterFault, parseFilter } from '../../src/match/filter/parse.ts';
import { Inspection } from '../../src/match/inspection.ts';
import { unlimitedWork } from './unlimited-work.ts';

function accepts(filter: string, body: string): boolean {
  const parsed = parseFilter(filter);
  if (isFilterFault(parsed)) assert.fail(`${filter}: ${JSON.stringify(parsed)}`);
  const accepted = filterAccepts(parsed, parseBody(body));
  assert.equal(new Inspection(parseBody(body), unlimitedWork()).accepts(parsed), accepted);
  return accepted;
}

/** By rule: condition on `$.a`, the bodies that it accepts, those that it does not. */
const rules: Record<string, [condition: string, accepted: string[], refused: string[]][]> = {
  'a scalar means $eq': [
    ['1', ['{"a":1}', '{"a":1.0}', '{"a":10e-1}'], ['{"a":2}', '{"a":"1"}', '{"a":[1]}', '{"a":true}', '{}']],
    ['"x"', ['{"a":"x"}', '{"a":"\\u0078"}'], ['{"a":"X"}', '{"a":"x "}', '{}']],
    ['null', ['{"a":null}'], ['{}', '{"a":0}', '{"a":""}', '{"a":false}']],
    ['0', ['{"a":0}', '{"a":-0}', '{"a":0.0}'], ['{"a":false}', '{"a":null}']],
    ['-0', ['{"a":0}'], ['{"a":1}']],
    ['""', ['{"a":""}'], ['{"a":null}']],
  ],
  '$eq is deep': [
    ['{"$eq":{"b":1,"c":[2]}}', ['{"a":{"c":[2],"b":1}}'], ['{"a":{"b":1}}', '{"a":{"b":1,"c":[2],"d":3}}', '{}']],
    ['{"$eq":[1,2]}', ['{"a":[1,2]}'], ['{"a":[2,1]}', '{"a":[1]}', '{"a":1}']],
    ['{"$eq":{}}', ['{"a":{}}'], ['{"a":[]}', '{"a":null}', '{"a":9007199254740993}']],
  ],
  '$ne negates $eq for one value, and holds for none': [
    ['{"$ne":1}', ['{"a":2}', '{"a":"1"}', '{"a":null}', '{}'], ['{"a":1}', '{"a":1.0}']],
    ['{"$ne":null}', ['{"a":1}', '{}'], ['{"a":null}']],
    ['{"$ne":[1]}', ['{"a":[2]}', '{"a":1}', '{}'], ['{"a":[1]}']],
  ],
  'numbers are ordered with numbers': [
    ['{"$gt":1}', ['{"a":1.5}', '{"a":1e300}'], ['{"a":1}', '{"a":0}', '{"a":"2"}', '{"a":null}', '{"a":true}', '{}']],
    ['{"$gte":1}', ['{"a":1}', '{"a":2}'], ['{"a":0.999}', '{"a":[1]}', '{"a":[2]}']],
    ['{"$lt":1}', ['{"a":0}', '{"a":-1e300}'], ['{"a":1}', '{"a":null}', '{"a":"0"}', '{"a":false}', '{}']],
    ['{"$lte":1}', ['{"a":1}', '{"a":0}'], ['{"a":1.001}', '{}']],
    ['{"$gt":1,"$lt":3}', ['{"a":2}'], ['{"a":1}', '{"a":3}']],
    ['{"$lte":-1e308}', ['{"a":-1e308}', '{"a":-1.5e308}'], ['{"a":1e308}']],
  ],
  'strings are ordered with strings, by code point': [
    [
      '{"$gt":"b"}',
      ['{"a":"ba"}', '{"a":"c"}', '{"a":"é"}'],
      ['{"a":"b"}', '{"a":"B"}', '{"a":99}', '{"a":["c"]}', '{}'],
    ],
    ['{"$gt":"\uffff"}', ['{"a":"😀"}'], ['{"a":"\uffff"}', '{"a":"\ue000"}']],
    ['{"$lte":"😀"}', ['{"a":"😀"}', '{"a":"\uffff"}', '{"a":""}'], ['{"a":"😁"}']],
  ],
  '$in and $nin': [
    [
      '{"$in":[1,"x",null,false]}',
      ['{"a":1}', '{"a":"x"}', '{"a":null}', '{"a":false}'],
      ['{"a":"1"}', '{"a":0}', '{}'],
    ],
    ['{"$in":[0]}', ['{"a":-0}'], ['{"a":[0]}', '{"a":{}}']],
    ['{"$nin":[1,"x"]}', ['{"a":2}', '{"a":[1]}', '{"a":null}', '{"a":{}}', '{}'], ['{"a":1}', '{"a":"x"}']],
  ],
  '$exists asks whether anything is selected': [
    ['{"$exists":true}', ['{"a":1}', '{"a":null}', '{"a":[]}'], ['{}', '{"b":1}']],
    ['{"$exists":false}', ['{}', '{"b":1}'], ['{"a":1}', '{"a":null}']],
  ],
  '$startsWith, $endsWith and $contains look into strings': [
    [
      '{"$startsWith":"ab"}',
      ['{"a":"ab"}', '{"a":"abc"}'],
      ['{"a":"xab"}', '{"a":["ab"]}', '{"a":1}', '{"a":null}', '{}'],
    ],
    ['{"$endsWith":"yz"}', ['{"a":"yz"}', '{"a":"xyz"}'], ['{"a":"yzx"}', '{"a":["yz"]}', '{"a":{"yz":1}}', '{}']],
    ['{"$contains":"bc"}', ['{"a":"bc"}', '{"a":"abcd"}'], ['{"a":"b c"}', '{"a":{"bc":1}}', '{"a":null}', '{}']],
    ['{"$contains":""}', ['{"a":""}', '{"a":"x"}'], ['{"a":1}', '{"a":[1]}', '{}']],
    ['{"$startsWith":"1"}', [], ['{"a":1}', '{"a":10}']],
  ],
  '$contains looks for an element of an array': [
    ['{"$contains":"b"}', ['{"a":["a","b"]}'], ['{"a":["abc"]}', '{"a":[]}', '{"a":[["b"]]}']],
    ['{"$contains":1}', ['{"a":[0,1]}', '{"a":[1.0]}'], ['{"a":["1"]}', '{"a":1}', '{"a":"1"}']],
    ['{"$contains":{"b":1}}', ['{"a":[{"b":1}]}'], ['{"a":[{"b":1,"c":2}]}', '{"a":{"b":1}}', '{"a":[1]}']],
    ['{"$contains":null}', ['{"a":[null]}'], ['{"a":[]}', '{"a":null}']],
  ],
  'a number that a double cannot hold equals no number, and is ordered': [
    ['9007199254740992', ['{"a":9007199254740992}'], ['{"a":9007199254740993}']],
    ['{"$ne":9007199254740992}', ['{"a":9007199254740993}'], ['{"a":9007199254740992}']],
    ['{"$in":[9007199254740992]}', [], ['{"a":9007199254740993}']],
    ['{"$nin":[9007199254740992]}', ['{"a":9007199254740993}'], []],
    ['{"$gt":9007199254740991}', ['{"a":9007199254740993}', '{"a":1e400}'], ['{"a":-1e400}', '{"a":1e-400}']],
    ['{"$gte":9007199254740992,"$lte":9007199254740992}', ['{"a":9007199254740993}'], []],
    ['{"$contains":9007199254740992}', ['{"a":[9007199254740992]}'], ['{"a":[9007199254740993]}']],
    ['{"$eq":{"b":9007199254740992}}', [], ['{"a":{"b":9007199254740993}}']],
    ['{"$exists":true}', ['{"a":9007199254740993}'], []],
    ['{"$startsWith":"9"}', [], ['{"a":9007199254740993}']],
  ],
};

for (const [rule, cases] of Object.entries(rules)) {
  describe(rule, () => {
    for (const [condition, accepted, refused] of cases) {
      test(condition, () => {
        for (const body of accepted) assert.equal(accepts(`{"$.a":${condition}}`, body), true, body);
        for (const body of refused) assert.equal(accepts(`{"$.a":${condition}}`, body), false, body);
      });
    }
  });
}

const items = JSON.stringify({
  items: [
    { sku: 'a', price: 5, tags: ['x', 'y'] },
    { sku: 'b', price: 15 },
  ],
  some: [{ k: 1 }, {}],
  empty: [],
  o: { k: 1, l: 2 },
});

/** Whole filters: those that accept the body above, and those that do not. */
const whole: Record<string, [accepting: string[], refusing: string[]]> = {
  'one selected value is enough, for every operator': [
    [
      '{"$.items[*].sku":"b"}',
      '{"$.items[*].sku":{"$ne":"a"}}',
      '{"$.items[*].sku":{"$nin":["a"]}}',
      '{"$.items[*].price":{"$gt":10}}',
      '{"$.items[*].tags[*]":"y"}',
      '{"$.items[*].tags":{"$contains":"x"}}',
      '{"$.o[*]":2}',
    ],
    ['{"$.items[*].sku":"c"}', '{"$.items[*].price":{"$gt":20}}', '{"$.items[*].sku":{"$nin":["a","b"]}}'],
  ],
  'each operator of a condition may hold for another value': [
    ['{"$.items[*].price":{"$lt":10,"$gt":10}}'],
    ['{"$.items[0].price":{"$lt":10,"$gt":10}}'],
  ],
  'none is written with $not': [
    ['{"$not":{"$.items[*].sku":"c"}}', '{"$not":{"$.empty[*]":{"$exists":true}}}'],
    ['{"$not":{"$.items[*].sku":"a"}}'],
  ],
  'an empty list is missing': [
    ['{"$.empty[*]":{"$exists":false}}', '{"$.empty[*]":{"$ne":1}}', '{"$.items[*].nope":{"$nin":[1]}}'],
    ['{"$.empty[*]":{"$exists":true}}', '{"$.empty[*]":null}', '{"$.items[*].nope":{"$lt":1}}'],
  ],
  'a list to which only some elements add is not empty': [
    ['{"$.some[*].k":{"$exists":true}}', '{"$.some[*].k":1}'],
    ['{"$.some[*].k":{"$exists":false}}', '{"$.some[*].k":{"$ne":1}}', '{"$.some[*].k":{"$nin":[1]}}'],
  ],
  'all members must hold': [
    ['{"$.o.k":1,"$.o.l":2}', '{"$and":[{"$.o.k":1},{"$.o.l":2}]}'],
    ['{"$.o.k":1,"$.o.l":3}', '{"$.o.k":0,"$.o.l":2}', '{"$and":[{"$.o.k":1},{"$.o.l":3}]}'],
  ],
  'one filter of $or must hold': [
    ['{"$or":[{"$.o.k":0},{"$.o.l":2}]}', '{"$or":[{"$.o.k":1}],"$.o.l":2}'],
    ['{"$or":[{"$.o.k":0},{"$.o.l":3}]}', '{"$or":[{"$.o.k":1}],"$.o.l":3}'],
  ],
  '$not turns the whole filter below it': [
    ['{"$not":{"$.o.k":1,"$.o.l":3}}', '{"$not":{"$not":{"$.o.k":1}}}'],
    ['{"$not":{"$.o.k":1,"$.o.l":2}}'],
  ],
  'the root is the body': [
    ['{"$":{"$exists":true}}', '{"$[*]":{"$eq":{"k":1,"l":2}}}', '{"$":{"$ne":1}}'],
    ['{"$":{"$exists":false}}', '{"$":{"$contains":"items"}}', '{"$":1}'],
  ],
};

for (const [rule, [accepting, refusing]] of Object.entries(whole)) {
  describe(rule, () => {
    for (const filter of accepting) test(filter, () => assert.equal(accepts(filter, items), true));
    for (const filter of refusing) test(filter, () => assert.equal(accepts(filter, items), false));
  });
}

// The rules once more, as plainly as they can be written, over the selections of an RFC 9535 library.

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

function expectAccepts(filter: Json, body: Json): boolean {
  return Object.entries(filter as object).every(([key, member]: [string, Json]) => {
    if (key === '$and') return (member as Json[]).every((part) => expectAccepts(part, body));
    if (key === '$or') return (member as Json[]).some((part) => expectAccepts(part, body));
    if (key === '$not') return !expectAccepts(member, body);
    const values = jsonpath.query(key, body).values() as Json[];
    const operators = typeof member === 'object' && member !== null ? member : { $eq: member };
    return Object.entries(operators).every(([operator, operand]: [string, Json]) => {
      if (operator === '$exists') return values.length > 0 === operand;
      if (values.length === 0) return operator === '$ne' || operator === '$nin';
      return values.some((value) => expectHolds(value, operator, operand));
    });
  });
}

function expectHolds(value: Json, operator: string, operand: Json): boolean {
  const comparable = typeof value === typeof operand && ['number', 'string'].includes(typeof value);
  const texts = typeof value === 'string' && typeof operand === 'string';
  if (operator === '$eq') return isDeepStrictEqual(value, operand);
  if (operator === '$ne') return !isDeepStrictEqual(value, operand);
  if (operator === '$in') return (operand as Json[]).some((one) => isDeepStrictEqual(value, one));
  if (operator === '$nin') return !(operand as Json[]).some((one) => isDeepStrictEqual(value, one));
  if (operator === '$gt') return comparable && value! > operand!;
  if (operator === '$gte') return comparable && value! >= operand!;
  if (operator === '$lt') return comparable && value! < operand!;
  if (operator === '$lte') return comparable && value! <= operand!;
  if (operator === '$startsWith') return texts && value.startsWith(operand);
  if (operator === '$endsWith') return texts && value.endsWith(operand);
  return texts ? value.includes(operand) : Array.isArray(value) && value.some((one) => isDeepStrictEqual(one, operand));
}

test('a filter accepts what the rules, written plainly, accept', () => {
  const scalar = fc.constantFrom<Json>(0, 1, 2, '', 'a', 'ab', 'b', true, false, null);
  const key = fc.constantFrom('a', 'b', '__proto__', 'length');
  const { json } = fc.letrec<{ json: Json }>((tie) => ({
    json: fc.oneof(
      { maxDepth: 4, depthSize: 'medium' },
      scalar,
      fc.array(tie('json'), { maxLength: 3 }),
      fc.array(fc.tuple(key, tie('json')), { maxLength: 3 }).map((members) => Object.fromEntries(members) as Json),
    ),
  }));
  const stepText = fc.constantFrom('.a', '.b', '.a', "['__proto__']", '.length', '[0]', '[-1]', '[*]', '.toString');
  const path = fc
    .array(stepText, { maxLength: 4 })
    .map((steps) => `$${steps.join('')}`)
    .filter((text) => text.split('[*]').length <= 3);
  const ordered = fc.constantFrom<Json>(0, 1, 'a', 'ab', '');
  const text = fc.constantFrom('', 'a', 'b', 'ab');
  const list = fc.array(scalar, { minLength: 1, maxLength: 3 });
  const operator = fc.oneof(
    fc.tuple(fc.constantFrom('$eq', '$ne', '$contains'), json),
    fc.tuple(fc.constantFrom('$gt', '$gte', '$lt', '$lte'), ordered),
    fc.tuple(fc.constantFrom('$in', '$nin'), list),
    fc.tuple(fc.constant('$exists'), fc.boolean()),
    fc.tuple(fc.constantFrom('$startsWith', '$endsWith', '$contains'), text),
  );
  const operators = fc.array(operator, { minLength: 1, maxLength: 2 }).map((all) => Object.fromEntries(all) as Json);
  const condition = fc.oneof(scalar, operators);
  const { filter } = fc.letrec<{ filter: Json }>((tie) => {
    const parts = fc.array(tie('filter'), { minLength: 1, maxLength: 3 });
    const member = fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      fc.tuple(path, condition),
      fc.tuple(fc.constantFrom('$and', '$or'), parts),
      fc.tuple(fc.constant('$not'), tie('filter')),
    );
    const members = fc.array(member, { minLength: 1, maxLength: 3 });
    return { filter: members.map((all) => Object.fromEntries(all) as Json) };
  });
  let accepted = 0;
  let refused = 0;
  fc.assert(
    fc.property(filter, json, (sample, body) => {
      const parsed = parseFilter(JSON.stringify(sample));
      fc.pre(!isFilterFault(parsed));
      const expected = expectAccepts(sample, body);
      if (expected) accepted++;
      else refused++;
      assert.equal(filterAccepts(parsed, JSON.parse(JSON.stringify(body))), expected);
    }),
    { numRuns: 2_000 },
  );
  assert.ok(accepted > 200 && refused > 200, `${accepted} accepted, ${refused} refused: one side is hardly tried`);
});
