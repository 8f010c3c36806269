import type { Destination } from '../../../sdk/typescript/src/postrider.ts';
import { DESTINATION_STATES, type DestinationState } from '../../model/condition.ts';
import { DESTINATION_STATUSES, type DestinationStatus } from '../../model/destination.ts';
import { relativeTime, styleOfState } from '../api/cells.ts';
import { listCommand } from '../api/list-command.ts';
import { whereGiven } from '../command.ts';
import type { Column } from '../table.ts';
import { nextCommand } from '../next-command.ts';

export const listDestinationsCommand = listCommand<Destination>({
  name: 'destinations list',
  summary: 'List destinations, newest first',
  examples: ['destinations list', 'destinations list --state failing --watch', 'destinations list --all --json'],
  flags: {
    status: { type: 'string', meaning: 'only those of this status', value: 'STATUS', options: DESTINATION_STATUSES },
    state: { type: 'string', meaning: 'only those that are doing so', value: 'STATE', options: DESTINATION_STATES },
  },
  nouns: 'destinations',
  toMakeOne: () => `To make one: ${nextCommand('destinations create https://…')}`,
  list: ({ client, line }, page, signal) => {
    const status = line.textOf('status') as DestinationStatus | null;
    const state = line.textOf('state') as DestinationState | null;
    return client.destinations.list({ ...page, ...whereGiven({ status, state }) }, { signal });
  },
  columns,
});

function columns(now: number): Column<Destination>[] {
  return [
    { title: 'ID', of: ({ id }) => id },
    { title: 'STATUS', of: ({ status }) => status, style: ({ status }) => styleOfState(status) },
    { title: 'NAME', of: ({ name }) => name ?? '-', widthMax: 16 },
    { title: 'CREATED', of: ({ created_at: at }) => relativeTime(at, now) },
    { title: 'URL', of: ({ url }) => url },
  ];
}
