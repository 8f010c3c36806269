// Bodies as filters see them: JSON.parse, but for numbers that a double cannot hold.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { parseBody } from '../../src/json/body.ts';
import { isHeldByDouble, WideNumber } from '../../src/json/wide-number.ts';

const readMember = (literal: string): unknown => (parseBody(`{"n":${literal}}`) as { n: unknown }).n;

describe('a number that a double holds stays a number', () => {
  const held = ['0', '-0', '0.0', '0e99999', '1', '1.0', '1e2', '1E+2', '100e-2', '-12.5', '0.1', '0.10', '0.3'];
  const long = ['9007199254740991', '9007199254740992', '12345678901234567000', '0.30000000000000004', '5e-324'];
  const exact = [
    '18446744073709551616',
    '18446744073709552000',
    '1.7976931348623157e308',
    '0.1000000000000000055511151231257827021181583404541015625',
    (2n ** 1023n).toString(),
  ];
  for (const literal of [...held, ...long, ...exact, '1.000000000000000000000']) {
    test(literal, () => {
      assert.equal(isHeldByDouble(literal), true);
      assert.equal(readMember(literal), Number(literal));
    });
  }
});

describe('a number that a double cannot hold becomes a WideNumber, and keeps its place in the order', () => {
  const wide = ['9007199254740993', '-9007199254740993', '1e400', '-1e400', '1e-400', '0.1000000000000000055'];
  const more = ['18446744073709551617', '0.30000000000000001', '4.9406564584124654e-324', '9007199254740993.0'];
  for (const literal of [
    ...wide,
    ...more,
    `1${'0'.repeat(5_000)}1`,
    `0.${'0'.repeat(5_000)}1`,
    '90071992547409930e-1',
  ]) {
    test(literal.slice(0, 40), () => {
      assert.equal(isHeldByDouble(literal), false);
      const number = readMember(literal);
      assert.ok(number instanceof WideNumber);
      assert.equal(number.value, Number(literal));
    });
  }
});

describe('only numbers in the place of values are looked at', () => {
  const wide = '12345678901234567';
  const cases: [name: string, text: string, expected: unknown][] = [
    ['in a string', `{"a":"x, ${wide}"}`, { a: `x, ${wide}` }],
    ['in a string after an escaped quote', `{"a":"\\": ${wide}"}`, { a: `": ${wide}` }],
    ['after a string that ends in a backslash', `{"a":"\\\\","b":${wide}}`, { a: '\\', b: new WideNumber(wide) }],
    ['in a key', `{", ${wide}":1,"b":${wide}}`, { [`, ${wide}`]: 1, b: new WideNumber(wide) }],
    ['beside null', `{"a":null,"b":[null,${wide}]}`, { a: null, b: [null, new WideNumber(wide)] }],
    ['with blanks before it', `{"a":\n\t ${wide}\r}`, { a: new WideNumber(wide) }],
    ['first in an array', `{"a":[${wide},1]}`, { a: [new WideNumber(wide), 1] }],
    ['of a duplicate key, last', `{"a":1,"a":${wide}}`, { a: new WideNumber(wide) }],
    ['of a duplicate key, not last', `{"a":${wide},"a":1}`, { a: 1 }],
    ['of keys like indices, which are reordered', `{"b":${wide},"0":1}`, { 0: 1, b: new WideNumber(wide) }],
  ];
  for (const [name, text, expected] of cases) {
    test(name, () => assert.deepEqual(parseBody(text), expected));
  }

  test('under __proto__, which stays an own property', () => {
    const body = parseBody(`{"__proto__":${wide},"a":{"__proto__":{"b":${wide}}}}`) as Record<string, object>;
    assert.ok(Object.getOwnPropertyDescriptor(body, '__proto__')?.value instanceof WideNumber);
    assert.equal(Object.getPrototypeOf(body), Object.prototype);
    const inner = Object.getOwnPropertyDescriptor(body['a'], '__proto__')?.value as { b: unknown };
    assert.ok(inner.b instanceof WideNumber);
    assert.deepEqual(Object.keys(Object.prototype), []);
  });
});

describe('a key written with an escape is read right, whatever was parsed before', () => {
  // After the first, JSON.parse of V8 14.6 reads the second's key as that of the first (nodejs/node#63785).
  const cases: [before: string, text: string, body: unknown][] = [
    ['{"a":1,"\\\\":2}', '{"a":1,"\\n":2}', { a: 1, '\n': 2 }],
    ['{"b":1,"caf\\\\":2}', '{"b":1,"caf\\u00e9":2}', { b: 1, café: 2 }],
    ['{"c":[],"x\\\\":{}}', '{"c":["\\n\\n","\\\\"], "x\\"" : 2}', { c: ['\n\n', '\\'], 'x"': 2 }],
  ];
  for (const [before, text, body] of cases) {
    test(text, () => {
      JSON.parse(before);
      parseBody(before);
      assert.deepEqual(parseBody(text), body);
    });
  }
});

describe('reading a body', () => {
  /** A JSON text, with random blanks and escapes, and the value that it has. */
  type Sample = { text: string; value: unknown };
  const blank = fc.constantFrom('', '', '', ' ', '\n\t\r ');
  const escapeAll = (text: string): string =>
    text.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const tricky = fc.constantFrom(
    '',
    '\\',
    '"',
    '\n',
    ', 1e5',
    ': 12345678901234567',
    '__proto__',
    '0',
    '1',
    '\ud800',
    'a',
  );
  const text = fc.oneof(tricky, fc.string());
  const string = fc.tuple(text, fc.boolean()).map(([value, escaped]): Sample & { value: string } => {
    return { text: escaped ? `"${escapeAll(value)}"` : JSON.stringify(value), value };
  });
  const digits = fc.stringMatching(/^-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?$/);
  const number = fc.oneof(digits, fc.double({ noNaN: true, noDefaultInfinity: true }).map(String));
  const leaf = fc.oneof(
    string,
    number.map((literal) => ({
      text: literal,
      value: isHeldByDouble(literal) ? Number(literal) : new WideNumber(literal),
    })),
    fc.constantFrom(true, false, null).map((value) => ({ text: String(value), value })),
  );
  const { sample } = fc.letrec<{ sample: Sample }>((tie) => ({
    sample: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      leaf,
      fc.tuple(blank, fc.array(tie('sample'), { maxLength: 4 })).map(([gap, elements]) => ({
        text: `[${gap}${elements.map((element) => element.text).join(`${gap},${gap}`)}${gap}]`,
        value: elements.map((element) => element.value),
      })),
      fc.tuple(blank, fc.array(fc.tuple(string, tie('sample')), { maxLength: 4 })).map(([gap, members]) => ({
        text: `{${gap}${members.map(([key, member]) => `${key.text}${gap}:${gap}${member.text}`).join(`${gap},`)}}`,
        // Object.fromEntries makes own properties of all keys, and the last of duplicates wins.
        value: Object.fromEntries(members.map(([key, member]) => [key.value, member.value])),
      })),
    ),
  }));

  test('gives the value that was written', () => {
    fc.assert(
      fc.property(sample, ({ text: written, value }) => {
        assert.deepEqual(parseBody(`{"a": ${written}}`), { a: value });
      }),
      { numRuns: 3_000 },
    );
  });
});

// value = numerator / denominator, in integers only.
type Fraction = { numerator: bigint; denominator: bigint };

function fractionOfLiteral(literal: string): Fraction {
  const [mantissa = '', power = '0'] = literal.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const exponent = BigInt(power) - BigInt(fraction.length);
  const scale = 10n ** (exponent < 0n ? -exponent : exponent);
  const digits = BigInt(`${whole}${fraction}`);
  return exponent < 0n ? { numerator: digits, denominator: scale } : { numerator: digits * scale, denominator: 1n };
}

function fractionOfDouble(value: number): Fraction {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const high = bits.getUint32(0);
  const exponent = (high >>> 20) & 0x7ff;
  const mantissa = (BigInt(high & 0xfffff) << 32n) + BigInt(bits.getUint32(4)) + (exponent === 0 ? 0n : 1n << 52n);
  const power = BigInt((exponent === 0 ? 1 : exponent) - 1_075);
  return power < 0n
    ? { numerator: mantissa, denominator: 1n << -power }
    : { numerator: mantissa << power, denominator: 1n };
}

const isSame = (a: Fraction, b: Fraction): boolean => a.numerator * b.denominator === b.numerator * a.denominator;

test('a number is held exactly if integer arithmetic says so', () => {
  const written = fc.stringMatching(/^(0|[1-9][0-9]{0,24})(\.[0-9]{1,24})?(e[+-]?[0-9]{1,2}|e-3[0-9]{2}|e30[0-9])?$/);
  const double = fc.double({ noNaN: true, noDefaultInfinity: true, min: 0 });
  const near = fc.bigInt({ min: 0n, max: 2n ** 70n }).map(String);
  const exact = double.map((value) => {
    const { numerator, denominator } = fractionOfDouble(value);
    const places = denominator.toString(2).length - 1;
    return `${numerator * 5n ** BigInt(places)}e-${places}`;
  });
  const precise = fc.tuple(double, fc.integer({ min: 1, max: 25 })).map(([value, digits]) => value.toPrecision(digits));
  fc.assert(
    fc.property(fc.oneof(written, double.map(String), near, exact, precise), (literal) => {
      const value = Number(literal);
      const fraction = fractionOfLiteral(literal);
      const expected =
        Number.isFinite(value) &&
        (isSame(fraction, fractionOfLiteral(String(value))) || isSame(fraction, fractionOfDouble(value)));
      assert.equal(isHeldByDouble(literal), expected);
      assert.equal(readMember(literal) instanceof WideNumber, !expected);
    }),
    { numRuns: 5_000 },
  );
});
