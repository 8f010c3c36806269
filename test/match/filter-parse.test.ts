// The grammar of filters: every rule, with what its breach is answered.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { listEqualities, type Filter } from '../../src/match/filter/filter.ts';
import { isFilterFault, parseFilter, parseStoredFilter } from '../../src/match/filter/parse.ts';

function filterOf(text: string): Filter {
  const filter = parseFilter(text);
  if (isFilterFault(filter)) assert.fail(filter.message);
  return filter;
}

/** A filter nested so deep by $not. */
const nested = (depth: number): string => (depth === 1 ? '{"$.a":1}' : `{"$not":${nested(depth - 1)}}`);
const conditions = (count: number): string[] => Array.from({ length: count }, (_, n) => `"$.a${n}":${n}`);
const wildcards = (count: number): string[] => Array.from({ length: count }, (_, n) => `"$.a${n}[*]":${n}`);
const numbers = (count: number): string => JSON.stringify(Array.from({ length: count }, (_, n) => n));
/** A filter of so many bytes. */
const sized = (bytes: number): string => `{"$.a":"${'x'.repeat(bytes - '{"$.a":""}'.length)}"}`;

describe('a filter may be', () => {
  const right = [
    '{"$.a":1}',
    ' { "$.a" : "x" } ',
    '{"$":{"$exists":true}}',
    '{"$.a":null}',
    '{"$.a":true,"$.b":false,"$.c":-1.5e3,"$.d":""}',
    '{"$.a":{"$eq":{"b":[1,{"c":null}]}}}',
    '{"$.a":{"$eq":{}},"$.b":{"$ne":[]},"$.c":{"$contains":{}}}',
    '{"$.a":{"$gt":1,"$gte":1,"$lt":"b","$lte":"b"}}',
    '{"$.a":{"$in":[1,"a",true,null]},"$.b":{"$nin":[1]}}',
    '{"$.a":{"$in":[1,1]}}',
    '{"$.a":{"$exists":false}}',
    '{"$.a":{"$startsWith":"","$endsWith":"b","$contains":"c"}}',
    '{"$and":[{"$.a":1}],"$or":[{"$.a":1},{"$.b":2}],"$not":{"$.c":3}}',
    '{"$.a":1,"$[\'a\']":2}',
    nested(5),
    `{${conditions(50).join(',')}}`,
    `{"$or":[{${conditions(25).join(',')}},{${conditions(25).join(',')}}]}`,
    `{${[...wildcards(5), ...conditions(45)].join(',')}}`,
    '{"$.a[*][*]":{"$gt":1,"$gte":1,"$lt":1,"$lte":1,"$ne":1,"$eq":1}}',
    `{"$.a":{"$in":${numbers(100)}}}`,
    '{"$.a":12345678901234567000}',
    '{"$.a":18446744073709551616}',
    sized(4_096),
    `${sized(4_096).replace(':', ' : ')}${' '.repeat(5_000)}`,
    sized(4_096).replace('xx', 'é'),
  ];
  for (const text of right) test(text.slice(0, 80), () => void filterOf(text));
});

describe('a filter may not be', () => {
  const object = 'a filter is an object, as in {"$.customer_id": "cus_1"}';
  const empty = 'a filter has at least one member; for every body leave the filter out';
  const listed =
    'the operators are $eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $exists, $startsWith, $endsWith, $contains';
  const size = (bytes: number): string =>
    `a filter has at most 4096 bytes of JSON without white space; this one has ${bytes}`;
  const wide = (literal: string): string =>
    `a double cannot hold the number "${literal}" exactly; have it sent as a string, and compare with that`;

  const wrong: [text: string, pointer: string, message: string][] = [
    // JSON
    ['', '', 'a filter must be valid JSON'],
    ['{"$.a":1', '', 'a filter must be valid JSON'],
    ["{'$.a':1}", '', 'a filter must be valid JSON'],
    ['[{"$.a":1}]', '', object],
    ['"$.a"', '', object],
    ['null', '', object],
    ['{"$.a":1,"$.a":2}', '/$.a', '"$.a" is given twice; an object has each key once'],
    ['{"$.a":1,"$\\u002ea":1}', '/$.a', '"$.a" is given twice; an object has each key once'],
    ['{"$.a":{"$gt":1,"$gt":2}}', '/$.a/$gt', '"$gt" is given twice; an object has each key once'],
    ['{"$.a":{"$eq":[{"b":1,"b":1}]}}', '/$.a/$eq/0/b', '"b" is given twice; an object has each key once'],
    ['{"$.a":9007199254740993}', '/$.a', wide('9007199254740993')],
    ['{"$.a":{"$in":[1,1e400]}}', '/$.a/$in/1', wide('1e400')],
    ['{"$.a":{"$eq":{"b/~":[1e-400]}}}', '/$.a/$eq/b~1~0/0', wide('1e-400')],
    ['{"$.a":0.1000000000000000055}', '/$.a', wide('0.1000000000000000055')],
    [sized(4_097), '', size(4_097)],
    [sized(4_096).replace('x', 'é'), '', size(4_097)],
    [`{"$.a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`, '', size(100_008)],

    // members
    ['{}', '', empty],
    ['{"$not":{}}', '/$not', empty],
    ['{"$or":[{"$.a":1},{}]}', '/$or/1', empty],
    ['{"$not":[{"$.a":1}]}', '/$not', object],
    ['{"$not":1}', '/$not', object],
    ['{"$and":{"$.a":1}}', '/$and', '$and takes an array of filters'],
    ['{"$or":1}', '/$or', '$or takes an array of filters'],
    ['{"$and":[]}', '/$and', '$and takes at least one filter'],
    ['{"$or":[]}', '/$or', '$or takes at least one filter'],
    ['{"$or":[{"$.a":1},2]}', '/$or/1', object],
    [nested(6), '/$not/$not/$not/$not/$not', 'filters are nested at most 5 deep, this one included'],
    [
      '{"$and":[{"$or":[{"$not":{"$and":[{"$or":[{"$.a":1}]}]}}]}]}',
      '/$and/0/$or/0/$not/$and/0/$or/0',
      'filters are nested at most 5 deep, this one included',
    ],
    [`{${conditions(51).join(',')}}`, '/$.a50', 'a filter has at most 50 conditions'],
    [
      `{"$not":{${conditions(26).join(',')}},"$or":[{${conditions(25).join(',')}}]}`,
      '/$or/0/$.a24',
      'a filter has at most 50 conditions',
    ],
    [`{${wildcards(6).join(',')}}`, '/$.a5[*]', 'a filter has [*] in at most 5 conditions'],
    [
      `{"$.b":1,"$or":[{${wildcards(5).join(',')}},{"$not":{"$.c":1,"$[*]":2}}]}`,
      '/$or/1/$not/$[*]',
      'a filter has [*] in at most 5 conditions',
    ],

    // paths
    ['{"customer_id":1}', '/customer_id', 'a path begins with $, the event\'s body, as in "$.customer_id"'],
    ['{"":1}', '/', 'a path begins with $, the event\'s body, as in "$.name"'],
    ['{"a/b~c":1}', '/a~1b~0c', 'a path begins with $, the event\'s body, as in "$.name"'],
    ['{"$.a":1,"$.a.*":1}', '/$.a.*', 'write [*] instead of .* (after "$.a")'],
    ['{"$or":[{"$[*][*][*]":1}]}', '/$or/0/$[*][*][*]', 'a path has at most 2 [*]; this one has 3'],
    ['{"$nor":1}', '/$nor', '"$nor" is neither a path, as in "$.customer_id", nor $and, $or or $not'],
    ['{"$eq":1}', '/$eq', '$eq belongs under a path, as in {"$.amount": {"$eq": …}}'],
    ['{"$and":[{"$in":[1]}]}', '/$and/0/$in', '$in belongs under a path, as in {"$.amount": {"$in": …}}'],

    // conditions
    ['{"$.a":[1,2]}', '/$.a', 'for any of several values write {"$in": […]}, for an array {"$eq": […]}'],
    ['{"$.a":[]}', '/$.a', 'for any of several values write {"$in": […]}, for an array {"$eq": […]}'],
    ['{"$.a":{}}', '/$.a', `a condition has at least one operator: ${listed.slice('the operators are '.length)}`],
    ['{"$.a":{"b":1}}', '/$.a/b', `"b" is no operator; to compare with an object write {"$eq": {…}}; ${listed}`],
    ['{"$.a":{"$regex":"x"}}', '/$.a/$regex', `"$regex" is no operator here; ${listed}`],
    ['{"$.a":{"$not":{"$eq":1}}}', '/$.a/$not', `"$not" is no operator here; ${listed}`],
    ['{"$.a":{"$GT":1}}', '/$.a/$GT', `"$GT" is no operator here; ${listed}`],
    ['{"$.a":{"$gt":null}}', '/$.a/$gt', '$gt takes a number or a string'],
    ['{"$.a":{"$gte":true}}', '/$.a/$gte', '$gte takes a number or a string'],
    ['{"$.a":{"$lt":[1]}}', '/$.a/$lt', '$lt takes a number or a string'],
    ['{"$.a":{"$lte":{}}}', '/$.a/$lte', '$lte takes a number or a string'],
    ['{"$.a":{"$in":1}}', '/$.a/$in', '$in takes an array of values'],
    ['{"$.a":{"$in":[]}}', '/$.a/$in', '$in takes 1-100 values; this one has 0'],
    [`{"$.a":{"$nin":${numbers(101)}}}`, '/$.a/$nin', '$nin takes 1-100 values; this one has 101'],
    ['{"$.a":{"$in":[1,[2]]}}', '/$.a/$in/1', '$in lists strings, numbers, true, false and null only'],
    ['{"$.a":{"$nin":[{}]}}', '/$.a/$nin/0', '$nin lists strings, numbers, true, false and null only'],
    ['{"$.a":{"$exists":1}}', '/$.a/$exists', '$exists takes true or false'],
    ['{"$.a":{"$exists":"true"}}', '/$.a/$exists', '$exists takes true or false'],
    ['{"$.a":{"$startsWith":1}}', '/$.a/$startsWith', '$startsWith takes a string'],
    ['{"$.a":{"$endsWith":null}}', '/$.a/$endsWith', '$endsWith takes a string'],
    ['{"$.a":{"$gt":1,"$startsWith":["b"]}}', '/$.a/$startsWith', '$startsWith takes a string'],
  ];
  for (const [text, pointer, message] of wrong) {
    test(text.slice(0, 80), () => assert.deepEqual(parseFilter(text), { pointer, message }));
  }

  test('anything else that is text: parsing never throws', () => {
    const piece = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"$.a"',
      '"$and"',
      '"$in"',
      '"$eq"',
      '1',
      '1e999',
      'null',
    );
    const text = fc.oneof(
      fc.string(),
      fc.json(),
      fc.array(piece).map((pieces) => pieces.join('')),
    );
    const filter = fc.json().map((json) => `{"$.a":{"$eq":${json}}}`);
    fc.assert(
      fc.property(fc.oneof(text, filter), (sample) => {
        const parsed = parseFilter(sample);
        if (isFilterFault(parsed)) assert.ok(parsed.message.length > 0 && parsed.message.length < 400);
      }),
      { numRuns: 2_000 },
    );
  });

  test('quoted in full by the refusal if it is long', () => {
    const parsed = parseFilter(`{"$.${'x'.repeat(3_000)} ":1}`);
    assert.ok(isFilterFault(parsed) && parsed.message.length < 200);
  });
});

test('a filter of the store may be older than the limit on conditions with [*]', () => {
  const filter = parseStoredFilter(`{${wildcards(50).join(',')}}`);
  assert.ok(!isFilterFault(filter) && filter.operator === '$and');
  assert.equal(filter.parts.length, 50);
  assert.ok(isFilterFault(parseStoredFilter(`{${wildcards(51).join(',')}}`)), 'the other limits hold');
});

test('filters that must all hold are joined in one list, in the order given', () => {
  const filter = filterOf('{"$.a":1,"$and":[{"$.b":{"$gt":1,"$lt":5}},{"$and":[{"$.c":2}]}],"$not":{"$.d":3,"$.e":4}}');
  assert.ok(filter.operator === '$and');
  assert.deepEqual(
    filter.parts.map((part) => ('path' in part ? `${part.path.key} ${part.operator}` : part.operator)),
    ["$['a'] $eq", "$['b'] $gt", "$['b'] $lt", "$['c'] $eq", '$not'],
  );
});

describe('the equalities that a filter demands', () => {
  const cases: [text: string, equalities: [path: string, values: unknown[]][]][] = [
    ['{"$.a":1}', [["$['a']", [1]]]],
    ['{"$.a":{"$eq":"x"}}', [["$['a']", ['x']]]],
    ['{"$.a":null}', [["$['a']", [null]]]],
    ['{"$.a":{"$in":[1,"x",1]}}', [["$['a']", [1, 'x']]]],
    ['{"$.a[*].b":true}', [["$['a'][*]['b']", [true]]]],
    [
      '{"$.a":1,"$.b":{"$eq":2,"$gt":1}}',
      [
        ["$['a']", [1]],
        ["$['b']", [2]],
      ],
    ],
    [
      '{"$and":[{"$.a":1},{"$and":[{"$.b":2}]}]}',
      [
        ["$['a']", [1]],
        ["$['b']", [2]],
      ],
    ],
    ['{"$.a":{"$eq":[1]}}', []],
    ['{"$.a":{"$ne":1}}', []],
    ['{"$.a":{"$nin":[1]}}', []],
    ['{"$not":{"$.a":1}}', []],
    ['{"$or":[{"$.a":1}]}', []],
    ['{"$or":[{"$.a":1},{"$.a":2}],"$.b":3}', [["$['b']", [3]]]],
  ];
  for (const [text, equalities] of cases) {
    test(text, () => {
      const found = listEqualities(filterOf(text)).map(({ path, values }) => [path.key, values]);
      assert.deepEqual(found, equalities);
    });
  }
});
