// API keys. All of it needs a key with the scope `admin`.
import type { CallOptions } from '../deadline.ts';
import { encode } from '../json-text.ts';
import { List, type PageQuery } from '../list.ts';
import type { Input, Schema } from '../shapes.ts';
import { pathOf, type Transport } from '../transport.ts';

export type ApiKey = Schema<'ApiKey'>;
/** With `secret`, the key itself, which is shown this once. */
export type CreatedApiKey = Schema<'CreatedApiKey'>;
export type ApiKeyInput = Input<Schema<'ApiKeyInput'>>;

export class Keys {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: PageQuery = {}, options?: CallOptions): List<ApiKey> {
    return new List(query, (page) =>
      this.#transport.call({ method: 'GET', path: '/v1/api-keys', query: page, due: { data: 'object' } }, options),
    );
  }

  create(input: ApiKeyInput = {}, options?: CallOptions): Promise<CreatedApiKey> {
    return this.#transport.call(
      { method: 'POST', path: '/v1/api-keys', body: encode(input), due: { secret: 'string' } },
      options,
    );
  }

  /** It opens nothing any more within a second, on any node. */
  async revoke(id: string, options?: CallOptions): Promise<void> {
    await this.#transport.delete(pathOf('api-keys', id), options);
  }
}
