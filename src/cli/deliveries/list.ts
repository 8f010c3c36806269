import type { Delivery } from '../../../sdk/typescript/src/postrider.ts';
import { DELIVERY_STATUSES, type DeliveryStatus } from '../../model/delivery.ts';
import { listCommand } from '../api/list-command.ts';
import { whereGiven } from '../command.ts';
import { DELIVERY_FLAGS, deliveryColumns, readDeliveryFlags } from './delivery-columns.ts';

export const listDeliveriesCommand = listCommand<Delivery>({
  name: 'deliveries list',
  summary: 'List deliveries, newest first',
  examples: [
    'deliveries list --status retrying',
    'deliveries list --destination dst_… --since 1h',
    'deliveries list --watch',
  ],
  flags: {
    status: { type: 'string', meaning: 'only those of this status', value: 'STATUS', options: DELIVERY_STATUSES },
    ...DELIVERY_FLAGS,
  },
  nouns: 'deliveries',
  list: ({ client, line }, page, signal) => {
    const status = line.textOf('status') as DeliveryStatus | null;
    return client.deliveries.list({ ...page, ...readDeliveryFlags(line), ...whereGiven({ status }) }, { signal });
  },
  columns: deliveryColumns,
});
