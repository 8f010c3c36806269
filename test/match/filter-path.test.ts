// Paths: the part of RFC 9535 that filters know, what the rest is refused with, and what is selected.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { jsonpath } from 'json-p3';
import { selectValues } from './plainly.ts';
import { EVERY, parsePath, type FilterPath, type PathStep } from '../../src/match/filter/path.ts';
import { WideNumber } from '../../src/json/wide-number.ts';

function pathOf(text: string): FilterPath {
  const path = parsePath(text);
  if (typeof path === 'string') assert.fail(`${text}: ${path}`);
  return path;
}

function select(text: string, body: unknown): unknown[] {
  return selectValues(pathOf(text), body);
}

describe('a path', () => {
  const cases: [text: string, steps: PathStep[]][] = [
    ['$', []],
    ['$.a', ['a']],
    ['$.a.b._c9', ['a', 'b', '_c9']],
    ['$.größe.名前.😀', ['größe', '名前', '😀']],
    ['$.__proto__.constructor', ['__proto__', 'constructor']],
    ["$['a']", ['a']],
    ['$["a"]', ['a']],
    ["$['']", ['']],
    ["$['it\\'s \"x\"']", ['it\'s "x"']],
    ['$["it\'s \\"x\\""]', ['it\'s "x"']],
    ["$['\\\\\\'']", ["\\'"]],
    ["$['\\b\\f\\n\\r\\t\\/\\\\']", ['\b\f\n\r\t/\\']],
    ["$['\\u0061\\u00E9\\u00e9\\uD83D\\uDE00\\ud7ff\\uE000']", ['aéé😀\ud7ff\ue000']],
    ["$['.a[0]*, ']", ['.a[0]*, ']],
    ['$[0]', [0]],
    ['$[-1]', [-1]],
    ['$[9007199254740991]', [9007199254740991]],
    ['$[-9007199254740991]', [-9007199254740991]],
    ['$[*]', [EVERY]],
    ["$.a[*]['b'][*].c", ['a', EVERY, 'b', EVERY, 'c']],
    ['$ .a', ['a']],
    ["$ \t\r\n.a [ 'b' ] [\n0\t] [ * ]", ['a', 'b', 0, EVERY]],
    ['$.a.b.c.d.e.f.g.h.i.j', ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j']],
  ];
  for (const [text, steps] of cases) {
    test(`may be ${JSON.stringify(text)}`, () => assert.deepEqual(pathOf(text).steps, steps));
  }

  const brackets = `a step in brackets is ['name'], ["name"], [0], [-1] (the last) or [*]`;
  const name = "after . comes a name of letters, digits and _; write any other name as ['the name']";
  const digit = "write an element as [0], and a name that begins with a digit as ['0']";
  const single = 'a step selects by one name, one index or [*]; lists and slices are not supported';
  const descendants = 'a path goes one level a step: write .name for each, ".." is not supported';
  const begin = `a step begins with . or [, as in .name or ['name']`;
  const wrong: [text: string, message: string][] = [
    ['', 'a path begins with $, the event\'s body, as in "$.name"'],
    ['order.id', 'a path begins with $, the event\'s body, as in "$.order.id"'],
    ['.a', 'a path begins with $, the event\'s body, as in "$.name"'],
    [' $.a', 'a path begins with $, the event\'s body, as in "$.name"'],
    ['@.a', 'a path begins with $, the event\'s body, as in "$.name"'],
    ['$a', `${begin} (after "$")`],
    ['$.a b', `${begin} (after "$.a")`],
    ['$.a-b', `${name} (after "$.a")`],
    ["$['a']b", `${begin} (after "$['a']")`],
    ['$.a ', 'a path ends without blanks (after "$.a")'],
    ['$.', `${name} (after "$")`],
    ['$. a', `${name} (after "$")`],
    ['$.1a', `${digit} (after "$")`],
    ['$.a.0.b', `${digit} (after "$.a")`],
    ['$.a.-1', `${digit} (after "$.a")`],
    ["$.'a'", `${name} (after "$")`],
    ['$.a.\ud800', `${name} (after "$.a")`],
    ['$.a.*', 'write [*] instead of .* (after "$.a")'],
    ['$..a', `${descendants} (after "$")`],
    ['$.a..[0]', `${descendants} (after "$.a")`],
    ['$[]', `${brackets} (after "$")`],
    ['$[a]', `${brackets} (after "$")`],
    ['$["a', `${brackets} (after "$")`],
    ['$[\'a"]', `${brackets} (after "$")`],
    ['$[01]', `${brackets} (after "$")`],
    ['$[-0]', `${brackets} (after "$")`],
    ['$[+1]', `${brackets} (after "$")`],
    ['$[1.0]', `${brackets} (after "$")`],
    ['$[1e1]', `${brackets} (after "$")`],
    ['$[0', `${brackets} (after "$")`],
    ['$[**]', `${brackets} (after "$")`],
    ["$['\\a']", `${brackets} (after "$")`],
    ["$['\\\"']", `${brackets} (after "$")`],
    ['$["\\\'"]', `${brackets} (after "$")`],
    ["$['\\U0061']", `${brackets} (after "$")`],
    ["$['\\u006']", `${brackets} (after "$")`],
    ["$['\\ud800']", `${brackets} (after "$")`],
    ["$['\\ude00']", `${brackets} (after "$")`],
    ["$['\\ud83d\\u0061']", `${brackets} (after "$")`],
    ["$['\ud800']", `${brackets} (after "$")`],
    ["$['a\nb']", `${brackets} (after "$")`],
    ['$[0,1]', `${single} (after "$")`],
    ['$[0:2]', `${single} (after "$")`],
    ['$[*,*]', `${single} (after "$")`],
    ['$[?@.a]', 'expressions in a path are not supported: write [*] and a condition for each path (after "$")'],
    ['$[9007199254740992]', 'an index lies within ±(2^53 - 1)'],
    ['$[-9007199254740992]', 'an index lies within ±(2^53 - 1)'],
    ['$.a.b.c.d.e.f.g.h.i.j.k', 'a path has at most 10 steps; this one has 11'],
    ['$[*].a[*].b[*]', 'a path has at most 2 [*]; this one has 3'],
  ];
  for (const [text, message] of wrong) {
    test(`may not be ${JSON.stringify(text)}`, () => assert.equal(parsePath(text), message));
  }

  test('has one key for all ways to write it, and a key of its own', () => {
    assert.equal(pathOf('$.a[0]').key, pathOf(`$ ["\\u0061"] [ 0 ]`).key);
    const different = ['$', '$.a', '$.a[0]', "$.a['0']", '$.a[*]', "$.a['*']", "$['a.b']", "$['a\\'][\\'b']", '$.a.b'];
    assert.equal(new Set(different.map((text) => pathOf(text).key)).size, different.length);
  });

  test('stays what it is when there are more paths than are shared', () => {
    const texts = Array.from({ length: 12_000 }, (_, n) => `$.p${n}`);
    for (const text of [...texts, ...texts]) assert.deepEqual(pathOf(text).steps, [text.slice(2)]);
  });
});

describe('a path selects', () => {
  const body: unknown = JSON.parse(
    '{"a":[1,[2,3],{"b":4}],"s":"text","n":null,"o":{"x":1,"y":null},"e":{},"__proto__":{"z":5},"length":7}',
  );
  const cases: [text: string, values: unknown[]][] = [
    ['$', [body]],
    ['$.n', [null]],
    ['$.missing', []],
    ['$.a[0]', [1]],
    ['$.a[-1].b', [4]],
    ['$.a[-3]', [1]],
    ['$.a[-4]', []],
    ['$.a[3]', []],
    ["$.a['0']", []],
    ['$.o[0]', []],
    ['$.a[*]', [1, [2, 3], { b: 4 }]],
    ['$.a[*][*]', [2, 3, 4]],
    ['$.o[*]', [1, null]],
    ['$.e[*]', []],
    ['$.s[*]', []],
    ['$.s[0]', []],
    ['$.n.x', []],
    ['$.length', [7]],
    ['$.a.length', []],
    ['$.s.length', []],
    ['$.__proto__.z', [5]],
    ['$.o.__proto__', []],
    ['$.constructor', []],
    ['$.o.toString', []],
    ['$.a.map', []],
  ];
  for (const [text, values] of cases) {
    test(`${text}: ${JSON.stringify(values).slice(0, 60)}`, () => assert.deepEqual(select(text, body), values));
  }

  test('nothing inside a number that a double cannot hold', () => {
    const wide = { a: new WideNumber('9007199254740992') };
    assert.deepEqual(select('$.a', wide), [wide.a]);
    assert.deepEqual(select('$.a.value', wide), []);
    assert.deepEqual(select('$.a[*]', wide), []);
  });

  test('all members of a large object, time and again', () => {
    const large = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`k${n}`, n]));
    for (let times = 0; times < 3; times++) assert.deepEqual(select('$.o[*]', { o: large }), Object.values(large));
  });
});

// Few names, so that paths often meet what they name.
const NAMES = ['a', 'b', 'a b', '', "it's", '"', '\\', '__proto__', 'constructor', 'length', '0', 'é', '😀', '\n'];
const name = fc.constantFrom(...NAMES);

const { document } = fc.letrec<{ document: unknown }>((tie) => ({
  document: fc.oneof(
    { maxDepth: 5, depthSize: 'medium' },
    fc.constantFrom<unknown>(0, 1, null, true, '', 'text'),
    fc.array(tie('document'), { maxLength: 4 }),
    fc.array(fc.tuple(name, tie('document')), { maxLength: 6 }).map((members) => Object.fromEntries(members)),
  ),
}));

/** A name in quotes, some of its characters escaped though they need not be. */
const quoted = fc.tuple(name, fc.constantFrom("'", '"'), fc.nat()).map(([text, mark, seed]) => {
  const characters = Array.from(text, (character, index) => {
    if (character === mark || character === '\\') return `\\${character}`;
    // \u000a, which RFC 9535 allows too, is refused there.
    if (character === '\n') return '\\n';
    return (seed >> index) % 2 === 1 ? escapeUnits(character) : character;
  });
  return `${mark}${characters.join('')}${mark}`;
});

function escapeUnits(text: string): string {
  return text.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const blank = fc.constantFrom('', '', '', ' ', '\t\r\n ');
const selector = fc.oneof(quoted, fc.integer({ min: -5, max: 5 }).map(String), fc.constant('*'));
const bracketed = fc.tuple(blank, blank, selector, blank).map(([a, b, text, c]) => `${a}[${b}${text}${c}]`);
const shorthand = fc.constantFrom('a', 'b', '__proto__', 'constructor', 'length', 'é', '😀').map((text) => `.${text}`);
const step = fc.oneof(
  bracketed,
  fc.tuple(blank, shorthand).map((parts) => parts.join('')),
);
const path = fc.array(step, { maxLength: 5 }).map((steps) => `$${steps.join('')}`);

describe('held against an RFC 9535 library', () => {
  test('a path selects the same values', () => {
    fc.assert(
      fc.property(path, document, (text, body) => {
        fc.pre((text.match(/\[\s*\*\s*\]/g) ?? []).length <= 2);
        assert.deepEqual(select(text, body), jsonpath.query(text, body as never).values());
      }),
      { numRuns: 5_000 },
    );
  });

  test('a text is a path if it is one there', () => {
    const piece = fc.constantFrom(
      '$',
      '.',
      'a',
      '[',
      ']',
      "'",
      '"',
      '*',
      '0',
      '1',
      ' ',
      '\\',
      '\\u',
      '00e9',
      '[-1]',
      '\n',
    );
    const text = fc.array(fc.oneof(piece, step), { maxLength: 8 }).map((pieces) => `$${pieces.join('')}`);
    fc.assert(
      fc.property(text, (sample) => {
        const parsed = parsePath(sample);
        // What RFC 9535 has and filters do not is listed above.
        fc.pre(typeof parsed !== 'string' || !/not supported|instead|at most/.test(parsed));
        assert.equal(typeof parsed !== 'string', isPathThere(sample));
      }),
      { numRuns: 5_000 },
    );
  });
});

function isPathThere(text: string): boolean {
  try {
    jsonpath.compile(text);
    return true;
  } catch {
    return false;
  }
}
