import type { Attempt, DeliveryWithRetries } from '../../../sdk/typescript/src/postrider.ts';
import { styleOfState, timeOfDay } from '../api/cells.ts';
import { formatDetails } from '../api/details.ts';
import { getCommand } from '../api/get-command.ts';
import { formatTable, type Column } from '../table.ts';

export const getDeliveryCommand = getCommand<DeliveryWithRetries>({
  name: 'deliveries get',
  summary: 'Show a delivery with every attempt that was made',
  examples: ['deliveries get dlv_…', 'deliveries get dlv_… --watch'],
  kind: { prefix: 'dlv', noun: 'delivery' },
  read: ({ client }, id, options) => client.deliveries.get(id, options),
  format: ({ retries, ...delivery }, width) => {
    const details = formatDetails(delivery, width);
    return retries.length === 0 ? details : `${details}\n\n${formatTable(COLUMNS, retries, width)}`;
  },
});

const COLUMNS: Column<Attempt>[] = [
  { title: 'ATTEMPT', of: ({ attempt }) => String(attempt) },
  { title: 'STARTED', of: ({ started_at: at }) => `${at.slice(0, 10)} ${timeOfDay(at)}` },
  { title: 'TOOK', of: ({ duration_ms: ms }) => `${ms} ms` },
  {
    title: 'OUTCOME',
    of: ({ outcome }) => outcome,
    style: ({ outcome }) => styleOfState(outcome === 'succeeded' ? outcome : 'failed'),
  },
  { title: 'ANSWER', of: ({ response_code: code }) => (code === null ? '-' : String(code)) },
  { title: 'ERROR', of: ({ error }) => error ?? '-' },
];
