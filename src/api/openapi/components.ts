// The parts of the OpenAPI document that have a name: each is there once, and everything else refers to it.
import { isDeepStrictEqual } from 'node:util';
import { SHOWN_AS } from '../schemas/fields.ts';

export type Json = Record<string, unknown>;

type Kind = 'schemas' | 'responses' | 'headers';

export type Components = ReturnType<typeof createComponents>;

export function createComponents() {
  const all: Record<Kind, Json> = { schemas: {}, responses: {}, headers: {} };

  /** Puts a part under its name, unless the same is there already, and returns the reference to it. */
  const add = (kind: Kind, name: string, part: Json): { $ref: string } => {
    const known = (all[kind][name] ??= part);
    // A reader, and a generated client, would get one of them in the place of the other.
    if (!isDeepStrictEqual(known, part)) throw new Error(`two different ${kind} have the name ${name}`);
    return { $ref: `#/components/${kind}/${name}` };
  };

  /** The same schema is met in many places. */
  const described = new Map<Json, Json>();
  const describe = (schema: Json): Json => described.getOrInsertComputed(schema, describeAnew);

  const describeAnew = (schema: Json): Json => {
    const { title, [SHOWN_AS]: shown, ...checked } = schema;
    const isNullable = Array.isArray(schema.type) && schema.type.includes('null');
    const plain = describeParts((shown as Json | undefined) ?? withoutNull(checked));
    if (isNullable && isPlainText(plain)) return withNull(plain);
    const named = typeof title === 'string' ? add('schemas', title, plain) : plain;
    return isNullable ? withNull(named) : named;
  };

  /** What a schema is made of. A schema that is shown in the place of another may itself be one with a name. */
  const describeParts = (schema: Json): Json => {
    if (typeof schema.title === 'string') return describe(schema);
    return Object.fromEntries(
      Object.entries(schema).map(([keyword, value]) => [keyword, describePart(keyword, value)]),
    );
  };

  const describePart = (keyword: string, value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    if (keyword === 'properties') return mapValues(value as Record<string, Json>, describe);
    if (keyword === 'items' || keyword === 'additionalProperties') return describe(value as Json);
    if (keyword === 'oneOf') return (value as Json[]).map(describe);
    return value;
  };

  return {
    add,
    /** A schema as the document has it. */
    schema: (schema: object): Json => describe(schema as Json),
    all: () => all,
  };
}

/** The schema of the value where it is not null. */
function withoutNull(schema: Json): Json {
  const { type, enum: values } = schema;
  if (!Array.isArray(type)) return schema;
  const [plainType] = type.filter((name) => name !== 'null');
  const plainValues = Array.isArray(values) ? { enum: values.filter((value) => value !== null) } : {};
  return { ...schema, ...plainValues, type: plainType };
}

/** Which a name tells a client nothing about. */
function isPlainText({ type, enum: values }: Json): boolean {
  return type === 'string' && values === undefined;
}

/**
 * Or null, in the one of JSON Schema's forms that openapi-generator reads: of a list of types it overlooks the null
 * beside an object, and of alternatives the one beside a reference to mere text. The clients that it makes then refuse
 * each list's last page, and each attempt without a response.
 */
function withNull(schema: Json): Json {
  const { type, description, examples, ...rest } = schema;
  if (type !== undefined && type !== 'object') return { ...schema, type: [type, 'null'] };
  const about = Object.entries({ description, examples }).filter(([, value]) => value !== undefined);
  const form = type === undefined ? rest : { type, ...rest };
  return { ...Object.fromEntries(about), anyOf: [form, { type: 'null' }] };
}

export function mapValues<T, U>(values: Record<string, T>, map: (value: T, name: string) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value, name)]));
}
