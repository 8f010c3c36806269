import type { Delivery } from '../../../sdk/typescript/src/postrider.ts';
import { listCommand } from '../api/list-command.ts';
import { DELIVERY_FLAGS, deliveryColumns, readDeliveryFlags } from '../deliveries/delivery-columns.ts';

export const listDeadDeliveriesCommand = listCommand<Delivery>({
  name: 'dlq list',
  summary: 'List dead deliveries, newest first',
  examples: ['dlq list', 'dlq list --destination dst_… --since 1d', 'dlq list --all --json'],
  flags: DELIVERY_FLAGS,
  nouns: 'dead deliveries',
  list: ({ client, line }, page, signal) => client.dlq.list({ ...page, ...readDeliveryFlags(line) }, { signal }),
  columns: (now) => deliveryColumns(now, 'REASON'),
});
