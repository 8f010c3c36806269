// The parts that schemas are made of. One schema validates a request, types its handler and documents it.
import { Type } from 'typebox';
import type { Static, TObject, TProperties, TSchema, TSchemaOptions } from 'typebox';

/** An object that has these members and no others. */
export function closed<T extends TProperties>(properties: T, options: TSchemaOptions = {}): TObject<T> {
  return Type.Object(properties, { additionalProperties: false, ...options });
}

/** The value, or null. Written as a list of types, which validates with one message and serialises fast. */
export function nullable<T extends TSchema>(schema: T) {
  const { type, enum: values } = schema as { type?: string; enum?: readonly unknown[] };
  const orNull = values === undefined ? {} : { enum: [...values, null] };
  return Type.Unsafe<Static<T> | null>({ ...schema, ...orNull, type: [type, 'null'] });
}

/** A member of a request that may be left out, or be null, which is the same. */
export function omissible<T extends TSchema>(schema: T) {
  return Type.Optional(nullable(schema));
}

export function oneOf<const T extends string>(values: readonly T[], options: TSchemaOptions = {}) {
  return Type.Unsafe<T>({ type: 'string', enum: [...values], ...options });
}

/** Any JSON object. */
export function anyObject(options: TSchemaOptions = {}) {
  return Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, ...options });
}

export function time(description: string) {
  return Type.String({ format: 'date-time', description, examples: ['2026-01-31T09:30:00.000Z'] });
}

/** A time as callers write it: the handler parses it, for JSON Schema's `date-time` is narrower. */
export function timeInput(description: string) {
  return Type.String({
    description: `${description} RFC 3339 with any offset, or a date.`,
    examples: ['2026-01-31T09:30:00Z'],
  });
}

export function id(prefix: string) {
  return Type.String({ examples: [`${prefix}_01kg9qz3xefa3vqtdw5f0bz7ra`] });
}

/** A resource under its own name in the OpenAPI document. */
export function named<T extends TSchema>(name: string, schema: T) {
  return { schema: { ...schema, $id: name }, ref: Type.Unsafe<Static<T>>({ $ref: `${name}#` }) };
}

/** A page of a list, newest first. */
export function pageOf<T extends TSchema>(row: T) {
  return closed({
    data: Type.Array(row),
    has_more: Type.Boolean(),
    next_cursor: nullable(Type.String({ description: 'Give it as `cursor` for the next page; null: there is none.' })),
  });
}

export const LIMIT_MAX = 100;

/** The query parameters that every list takes. */
export const pageQuery = {
  cursor: Type.Optional(
    Type.String({ description: '`next_cursor` of the previous page. The filters must stay the same.' }),
  ),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: 25, description: 'How many to return at most.' }),
  ),
};
