// What the API's generated types are called here, and the one liberty that is taken with them: a Date does for a time.
import type { components, operations } from './schema.ts';

type Schemas = components['schemas'];
type TimeName = 'since' | 'until' | 'occurred_at' | 'expires_at';

export type Schema<Name extends keyof Schemas> = Schemas[Name];

/** What goes to the service: times as text or Date. */
export type Input<T> = { [Key in keyof T]: Key extends TimeName ? T[Key] | Date : T[Key] };

/** The query of an operation of the OpenAPI document. */
export type QueryOf<Name extends keyof operations> = operations[Name] extends { parameters: { query?: infer Q } }
  ? Input<Omit<NonNullable<Q>, 'cursor'>> & { cursor?: string | null }
  : never;
