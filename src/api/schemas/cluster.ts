import { Type } from 'typebox';
import { closed, id, named, time } from './fields.ts';

const node = named(
  'Node',
  closed({
    id: id('nod'),
    name: Type.String({ description: 'The setting `NODE_NAME`, by default the name of its machine.' }),
    version: Type.String({ examples: ['0.1.0'] }),
    address: Type.String({ description: 'Where it listens.', examples: ['10.0.0.5:8383'] }),
    started_at: time('When it joined.'),
    last_heartbeat_at: time('When it last proved that it lives.'),
    shards_owned: Type.Integer({ description: 'How many of the 256 shards it sends for.' }),
    is_leaving: Type.Boolean({ description: 'It is being stopped, and hands over its shards.' }),
  }),
);

export const cluster = named(
  'Cluster',
  closed({
    data: Type.Array(node),
    shards_free: Type.Integer({ description: 'Shards that nobody sends for just now.' }),
    backlog: Type.Integer({
      description: 'Deliveries that are pending or retrying. With several nodes it may be a minute old.',
    }),
  }),
);
