import type { EventWithBody } from '../../../sdk/typescript/src/postrider.ts';
import { styleOfState } from '../api/cells.ts';
import { formatDetails } from '../api/details.ts';
import { getCommand } from '../api/get-command.ts';
import { formatTable } from '../table.ts';

export const getEventCommand = getCommand<EventWithBody>({
  name: 'events get',
  summary: 'Show an event with its body and its deliveries',
  examples: ['events get evt_…', 'events get evt_… --watch'],
  kind: { prefix: 'evt', noun: 'event' },
  read: ({ client }, id, options) => client.events.get(id, options),
  format: ({ deliveries, body, ...event }, width) => {
    const details = formatDetails({ ...event, body }, width);
    if (deliveries.length === 0)
      return `${details}\n\nNo subscription wanted it: postrider explain --event ${event.event_id}`;
    const columns = [
      { title: 'DELIVERY', of: ({ id }: (typeof deliveries)[number]) => id },
      {
        title: 'STATUS',
        of: ({ status }: (typeof deliveries)[number]) => status,
        style: ({ status }: (typeof deliveries)[number]) => styleOfState(status),
      },
      { title: 'DESTINATION', of: ({ destination_id: id }: (typeof deliveries)[number]) => id },
    ];
    return `${details}\n\n${formatTable(columns, deliveries, width)}`;
  },
});
