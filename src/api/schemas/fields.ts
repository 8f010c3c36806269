// The parts that schemas are made of. One schema validates a request, types its handler and documents it.
import { Type } from './type.ts';
import type { Static, TObject, TProperties, TSchema, TSchemaOptions } from 'typebox';
import { TIME_PATTERN } from '../../model/time.ts';

/** An object that has these members and no others. */
export function closed<T extends TProperties>(properties: T, options: TSchemaOptions = {}): TObject<T> {
  return Type.Object(properties, { additionalProperties: false, ...options });
}

/**
 * The value, or null. Written as a list of types, which validates with one message and serialises fast; the document
 * says it the way that generators of clients understand.
 */
export function nullable<T extends TSchema>(schema: T) {
  const { type, enum: values } = schema as { type?: string; enum?: readonly unknown[] };
  const orNull = values === undefined ? {} : { enum: [...values, null] };
  return Type.Unsafe<Static<T> | null>({ ...schema, ...orNull, type: [type, 'null'] });
}

/** A schema under a name of its own in the OpenAPI document, where every use of it is a reference. */
export function named<T extends TSchema>(name: string, schema: T) {
  return Type.Unsafe<Static<T>>({ ...schema, title: name });
}

/**
 * The document shows `shown` instead of the schema, in the name of the schema. For what is checked by hand, so that
 * the fault gets an error code of its own.
 */
export function shownAs<T extends TSchema>(schema: T, shown: object) {
  return Type.Unsafe<Static<T>>({ ...schema, [SHOWN_AS]: shown });
}

/** The keyword of `shownAs`: it says nothing to those who validate or serialise. */
export const SHOWN_AS = 'shownAs';

/** A member of a request that may be left out, or be null, which is the same. */
export function omissible<T extends TSchema>(schema: T) {
  return Type.Optional(nullable(schema));
}

export function oneOf<const T extends string>(values: readonly T[], options: TSchemaOptions = {}) {
  return Type.Unsafe<T>({ type: 'string', enum: [...values], ...options });
}

/** Any JSON object. */
export function anyObject(options: TSchemaOptions) {
  return Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, ...options });
}

export function time(description: string, example = '2026-01-31T09:30:00.000Z') {
  return Type.String({ format: 'date-time', description, examples: [example] });
}

/** Of times that lie ahead: whoever tries out an example must not be told that it is over. */
export const FUTURE_TIME = '2099-12-31T23:59:59.000Z';

/** A time as callers write it: the handler parses it, for JSON Schema's `date-time` is narrower. */
export function timeInput(description: string, example = '2026-01-31T09:30:00Z') {
  const text = Type.String({ description: `${description} RFC 3339 with any offset, or a date.`, examples: [example] });
  return shownAs(text, { ...text, pattern: TIME_PATTERN });
}

export function id(prefix: string) {
  return Type.String({ examples: [`${prefix}_01kg9qz3xefa3vqtdw5f0bz7ra`] });
}

export function destinationIds(description: string) {
  return Type.Array(id('dst'), { minItems: 1, maxItems: 1_000, uniqueItems: true, description });
}

const cursorText = Type.String({
  description: 'Where a list goes on. `next_cursor` of the previous page; the filters must stay the same.',
});
const cursor = named('Cursor', shownAs(cursorText, { ...cursorText, pattern: '^[A-Za-z0-9_-]+$' }));

/** A page of a list, newest first. */
export function pageOf<T extends TSchema>(row: T) {
  const { title } = row as { title?: string };
  return named(
    `${title}Page`,
    closed({
      data: Type.Array(row),
      has_more: Type.Boolean({
        description: 'Whether there are more rows. A page may be short and have more all the same.',
      }),
      next_cursor: nullable(cursor),
    }),
  );
}

/** What a text may be made of, as a pattern, and in the words of a refusal. NUL is what not every store can keep. */
export const ANY_TEXT = { pattern: '^[^\\u0000]*$', takes: 'any other' };
export const PRINTABLE_ASCII = { pattern: '^[\\x20-\\x7e]*$', takes: 'printable ASCII only, U+0020 to U+007E' };

const LIMIT_MAX = 100;

/** The query parameters that every list takes. */
export const pageQuery = {
  cursor: Type.Optional(cursor),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: 25, description: 'How many to return at most.' }),
  ),
};
