// The builders of TypeBox that our schemas use. Its types, which Node erases, and the JSON Schema that it would make;
// its code is 373 modules, which took a fifth of a start and 4 MB of heap.
import type { Type as TypeBox } from 'typebox';

type Schema = Readonly<Record<string, unknown>>;

/** On a member that its object does not require; no part of JSON Schema, so that no copy by spreading has it. */
const IS_OPTIONAL = Symbol('is optional');

const ofType =
  (type: string) =>
  (options?: Schema): Schema => ({ type, ...options });

/** Tests hold what these make against what TypeBox makes. */
const builders = {
  Array: (items: Schema, options?: Schema) => ({ type: 'array', items, ...options }),
  Boolean: ofType('boolean'),
  Integer: ofType('integer'),
  Literal: (value: string, options?: Schema) => ({ type: 'string', const: value, ...options }),
  Null: ofType('null'),
  Number: ofType('number'),
  Object(properties: Record<string, Schema>, options?: Schema) {
    const required = Object.keys(properties).filter((name) => !Object.hasOwn(properties[name]!, IS_OPTIONAL));
    return { type: 'object', ...(required.length > 0 && { required }), properties, ...options };
  },
  Optional: (schema: Schema) => Object.defineProperty({ ...schema }, IS_OPTIONAL, { value: true }),
  String: ofType('string'),
  Unknown: (options?: Schema) => ({ ...options }),
  Unsafe: (schema: Schema) => schema,
};
export const Type = builders as unknown as Pick<typeof TypeBox, keyof typeof builders>;
