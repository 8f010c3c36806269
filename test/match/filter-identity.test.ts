// When two filters are the same JSON.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { filterIdentity } from '../../src/match/filter/json.ts';

const same: [a: string, b: string][] = [
  ['{"$.a":1,"$.b":2}', '{ "$.b" : 2,\n"$.a": 1 }'],
  ['{"$.a":{"$gt":1,"$lt":5}}', '{"$.a":{"$lt":5,"$gt":1}}'],
  ['{"$.a":"é"}', '{"$.a":"\\u00e9"}'],
  ['{"$.a":1}', '{"$.a":1.0}'],
  ['{"$.a":100}', '{"$.a":1e2}'],
  ['{"$.a":{"$eq":{"10":1,"9":2}}}', '{"$.a":{"$eq":{"9":2,"10":1}}}'],
];
for (const [a, b] of same) {
  test(`${a} is ${JSON.stringify(b)}`, () => assert.equal(filterIdentity(a), filterIdentity(b)));
}

const different: [a: string, b: string][] = [
  ['{"$.a":1}', '{"$.a":"1"}'],
  ['{"$.a":1}', '{"$.b":1}'],
  ['{"$.a":1}', '{"$.a":{"$eq":1}}'],
  ['{"$.a":{"$in":[1,2]}}', '{"$.a":{"$in":[2,1]}}'],
  ['{"$.a":{"$in":["1,2"]}}', '{"$.a":{"$in":[1,2]}}'],
  ['{"$.a":{"$eq":{"__proto__":1}}}', '{"$.a":{"$eq":{}}}'],
  // JSON.parse may take the second one's key for the first one's: see json/reader.ts.
  ['{"a":{"\\\\":1}}', '{"a":{"\\n":1}}'],
];
for (const [a, b] of different) {
  test(`${a} is not ${b}`, () => assert.notEqual(filterIdentity(a), filterIdentity(b)));
}

test('a filter has the identity for ever: hashes of those of earlier versions are stored', () => {
  const filter = '{"$.a":{"$in":[1.0,-0,1E2,null,"\\u00e9\\/😀"]}, "$.10" : 1,"$.9":{"$eq":{"__proto__":[]}}}';
  assert.equal(filterIdentity(filter), '{"$.10":1,"$.9":{"$eq":{"__proto__":[]}},"$.a":{"$in":[1,0,100,null,"é/😀"]}}');
});

test('identities are equal exactly if the values are', () => {
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom<unknown>(0, 1, '', 'a', '1', null, true),
      fc.array(tie('value'), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), tie('value'), { maxKeys: 3, noNullPrototype: true }),
    ),
  }));
  fc.assert(
    fc.property(value, value, (a, b) => {
      const [left, right] = [JSON.stringify(a), JSON.stringify(b)];
      const equal = isDeepStrictEqual(JSON.parse(left), JSON.parse(right));
      assert.equal(filterIdentity(left) === filterIdentity(right), equal);
      assert.equal(filterIdentity(left), filterIdentity(JSON.stringify(JSON.parse(left), null, 2)));
    }),
    { numRuns: 2_000 },
  );
});
