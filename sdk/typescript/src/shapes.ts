// What the API's generated types are called here, and the two liberties that are taken with them: a Date does for a
// time, and a JsonText for what is JSON anyway.
import type { JsonText } from './json-text.ts';
import type { components, operations } from './schema.ts';

type Schemas = components['schemas'];
type TimeName = 'since' | 'until' | 'occurred_at' | 'expires_at';
type JsonName = 'body' | 'filter' | 'headers' | 'metadata' | 'retry_policy';

export type Schema<Name extends keyof Schemas> = Schemas[Name];

/** What goes to the service: times as text or Date, JSON as an object or as a JsonText, which is sent as it stands. */
export type Input<T> = {
  [Key in keyof T]: T[Key] | (Key extends TimeName ? Date : Key extends JsonName ? JsonText : never);
};

/** The query of an operation of the OpenAPI document. */
export type QueryOf<Name extends keyof operations> = operations[Name] extends { parameters: { query?: infer Q } }
  ? Input<Omit<NonNullable<Q>, 'cursor'>> & { cursor?: string | null }
  : never;
