// Destinations: where events go, how they are doing, and the keys that sign for them.
import type { CallOptions } from '../deadline.ts';
import { encode } from '../json-text.ts';
import { List, type PageQuery } from '../list.ts';
import type { Input, QueryOf, Schema } from '../shapes.ts';
import { pathOf, type Transport } from '../transport.ts';
import { bulkCall } from './operations.ts';

export type Destination = Schema<'Destination'>;
/** With `signing_secret`, which is shown this once. */
export type CreatedDestination = Schema<'CreatedDestination'>;
export type DestinationInput = Input<Schema<'DestinationInput'>>;
export type DestinationPatch = Input<Schema<'DestinationPatch'>>;
export type DestinationQuery = QueryOf<'listDestinations'>;
export type DestinationHealth = Schema<'DestinationHealth'>;
export type TestAttempt = Schema<'TestAttempt'>;
export type SigningKey = Schema<'SigningKey'>;
export type RotatedSigningKey = Schema<'RotatedSigningKey'>;
export type Recovery = Input<Schema<'RecoverInput'>>;

/** A receiver may take a minute to answer a test, and that is what the caller wants to see. */
const TEST_TIMEOUT_MS = 75_000;

export class Destinations {
  readonly signingKeys: SigningKeys;
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
    this.signingKeys = new SigningKeys(transport);
  }

  /** Keep `signing_secret` of what it resolves to: no later answer has it. */
  create(input: DestinationInput, options?: CallOptions): Promise<CreatedDestination> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/destinations', body: encode(input), due: { id: 'string' } },
      options,
    );
  }

  list(query: DestinationQuery = {}, options?: CallOptions): List<Destination> {
    return new List(query, (page) =>
      this.#transport.call(
        { method: 'GET', path: '/v1/destinations', query: { ...query, ...page }, due: { data: 'object' } },
        options,
      ),
    );
  }

  get(id: string, options?: CallOptions): Promise<Destination> {
    return this.#transport.call({ method: 'GET', path: pathOf('destinations', id), due: { id: 'string' } }, options);
  }

  /** Replaces the fields that are given; `status: 'paused'` holds its deliveries back until it is `active` again. */
  update(id: string, patch: DestinationPatch, options?: CallOptions): Promise<Destination> {
    const call = {
      method: 'PATCH',
      path: pathOf('destinations', id),
      body: encode(patch),
      due: { id: 'string' },
    } as const;
    return this.#transport.call(call, options);
  }

  /** For good; its subscriptions go too, and its unfinished deliveries end `dead`. */
  async delete(id: string, options?: CallOptions): Promise<void> {
    await this.#transport.delete(pathOf('destinations', id), options);
  }

  health(id: string, options?: CallOptions): Promise<DestinationHealth> {
    return this.#transport.call(
      { method: 'GET', path: pathOf('destinations', id, 'health'), due: { summary: 'string' } },
      options,
    );
  }

  /** One signed request now, and what came back; it counts nowhere. At most one a second. */
  test(id: string, input: Partial<Input<Schema<'TestInput'>>> = {}, options?: CallOptions): Promise<TestAttempt> {
    const path = pathOf('destinations', id, 'test');
    const call = {
      method: 'POST',
      path,
      body: encode(input),
      timeoutMs: TEST_TIMEOUT_MS,
      due: { request: 'object' },
    } as const;
    return this.#transport.call(call, options);
  }

  /** A new signing key; the old one signs too until `previous_expires_at`. */
  rotate(id: string, input: Partial<Schema<'RotationInput'>> = {}, options?: CallOptions): Promise<RotatedSigningKey> {
    const path = pathOf('destinations', id, 'signing-keys', 'rotate');
    return this.#transport.call({ method: 'POST', path, body: encode(input), due: { id: 'string' } }, options);
  }

  /** Sends what it has missed since then, as an operation; with `dry_run` only says how much. */
  recover(id: string, input: Recovery & { dry_run: true }, options?: CallOptions): Promise<Schema<'DryRun'>>;
  recover(
    id: string,
    input: Recovery & { dry_run?: false | null },
    options?: CallOptions,
  ): Promise<Schema<'Operation'>>;
  recover(id: string, input: Recovery, options?: CallOptions): Promise<Schema<'DryRun'> | Schema<'Operation'>> {
    return this.#transport.call(bulkCall(pathOf('destinations', id, 'recover'), input), options);
  }
}

class SigningKeys {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Those that sign, newest first; never their secrets. */
  list(id: string, query: PageQuery = {}, options?: CallOptions): List<SigningKey> {
    const path = pathOf('destinations', id, 'signing-keys');
    return new List(query, (page) =>
      this.#transport.call({ method: 'GET', path, query: page, due: { data: 'object' } }, options),
    );
  }

  /** Ends an old key now; never the newest. */
  async delete(id: string, keyId: string, options?: CallOptions): Promise<void> {
    await this.#transport.delete(pathOf('destinations', id, 'signing-keys', keyId), options);
  }
}
