// Our builders of schemas make what TypeBox, whose types they have, would make.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type as TypeBox } from 'typebox';
import { Type } from '../../src/api/schemas/type.ts';

const SCHEMAS: Record<string, (type: typeof Type) => object> = {
  'plain types': (type) => [type.Boolean(), type.Integer(), type.Null(), type.Number(), type.String(), type.Unknown()],
  'their options': (type) => [
    type.Boolean({ description: 'd', default: true }),
    type.Integer({ minimum: 1, maximum: 2 }),
    type.Null({ description: 'd' }),
    type.Number({ exclusiveMinimum: 0 }),
    type.String({ format: 'date-time', examples: ['e'] }),
    type.Unknown({ description: 'd' }),
  ],
  'a literal': (type) => [type.Literal('a'), type.Literal('a', { description: 'd' })],
  'an array': (type) => [type.Array(type.String()), type.Array(type.String(), { maxItems: 3, uniqueItems: true })],
  'any schema': (type) => type.Unsafe<string>({ type: ['string', 'null'] }),
  'an object': (type) => type.Object({ a: type.String(), b: type.Object({ c: type.Null() }) }, { title: 'T' }),
  'an object without members': (type) => type.Object({}, { additionalProperties: true }),
  'an object that requires some members': (type) =>
    type.Object({ a: type.Optional(type.String({ minLength: 1 })), b: type.Integer(), c: type.Optional(type.Null()) }),
  'an object that requires no member': (type) => type.Object({ a: type.Optional(type.String()) }),
  'a member that a copy requires again': (type) => type.Object({ a: { ...type.Optional(type.String()) } }),
  'a member that is optional though it is used elsewhere too': (type) => {
    const text = type.String();
    return type.Object({ a: text, b: type.Optional(text) });
  },
};

for (const [name, make] of Object.entries(SCHEMAS)) {
  test(name, () => {
    assert.equal(JSON.stringify(make(Type)), JSON.stringify(make(TypeBox)));
  });
}
