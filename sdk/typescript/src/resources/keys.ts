// API keys. All of it needs a key with the scope `admin`.
import type { CallOptions } from '../deadline.ts';
import type { DueOf } from '../due.ts';
import { encode } from '../json-text.ts';
import { List, type PageQuery } from '../list.ts';
import type { Input, Schema } from '../shapes.ts';
import { pathOf, type Transport } from '../transport.ts';

export type ApiKey = Schema<'ApiKey'>;
/** With `secret`, the key itself, which is shown this once. */
export type CreatedApiKey = Schema<'CreatedApiKey'>;
export type ApiKeyInput = Input<Schema<'ApiKeyInput'>>;

const KEY = {
  id: 'string',
  name: 'string?',
  mode: 'string',
  prefix: 'string',
  last4: 'string',
  scopes: ['string'],
  expires_at: 'string?',
  last_used_at: 'string?',
} as const satisfies DueOf<ApiKey>;
const CREATED = { ...KEY, secret: 'string' } as const satisfies DueOf<CreatedApiKey>;

export class Keys {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: PageQuery = {}, options?: CallOptions): List<ApiKey> {
    return new List(query, (page) =>
      this.#transport.call({ method: 'GET', path: '/v1/api-keys', query: page, due: { data: [KEY] } }, options),
    );
  }

  create(input: ApiKeyInput = {}, options?: CallOptions): Promise<CreatedApiKey> {
    return this.#transport.call({ method: 'POST', path: '/v1/api-keys', body: encode(input), due: CREATED }, options);
  }

  /** It opens nothing any more within a second, on any node. */
  async revoke(id: string, options?: CallOptions): Promise<void> {
    await this.#transport.delete(pathOf('api-keys', id), options);
  }
}
