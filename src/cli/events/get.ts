import type { JsonText } from '../../../sdk/typescript/src/json-text.ts';
import type { EventWithBody } from '../../../sdk/typescript/src/postrider.ts';
import { styleOfState } from '../api/cells.ts';
import { formatDetails } from '../api/details.ts';
import { getCommand } from '../api/get-command.ts';
import { formatTable, type Column } from '../table.ts';
import { nextCommand } from '../next-command.ts';

/** Its body as it was published: what JavaScript makes of JSON has other digits. */
type ExactEvent = Omit<EventWithBody, 'body'> & { body: JsonText | null };

export const getEventCommand = getCommand<ExactEvent>({
  name: 'events get',
  summary: 'Show an event with its body and its deliveries',
  examples: ['events get evt_…', 'events get evt_… --watch'],
  kind: { prefix: 'evt', noun: 'event' },
  read: async ({ client }, id, options) => {
    const [event, body] = await Promise.all([client.events.get(id, options), client.events.body(id, options)]);
    return { ...event, body };
  },
  format: ({ deliveries, body, ...event }, width) => {
    const details = formatDetails({ ...event, body: body?.text }, width);
    if (deliveries.length === 0)
      return `${details}\n\nNo subscription wanted it: ${nextCommand(`explain --event ${event.event_id}`)}`;
    return `${details}\n\n${formatTable(COLUMNS, deliveries, width)}`;
  },
});

const COLUMNS: Column<ExactEvent['deliveries'][number]>[] = [
  { title: 'DELIVERY', of: ({ id }) => id },
  { title: 'STATUS', of: ({ status }) => status, style: ({ status }) => styleOfState(status) },
  { title: 'DESTINATION', of: ({ destination_id: id }) => id },
];
