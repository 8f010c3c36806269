import type { Destination } from '../../../sdk/typescript/src/postrider.ts';
import { relativeTime, styleOfState } from '../api/cells.ts';
import { listCommand } from '../api/list-command.ts';
import { whereGiven } from '../command.ts';
import type { Column } from '../table.ts';
import { nextCommand } from '../next-command.ts';

const STATUSES = ['active', 'paused'] as const;
const STATES = ['healthy', 'failing', 'paused', 'idle'] as const;

export const listDestinationsCommand = listCommand<Destination>({
  name: 'destinations list',
  summary: 'List destinations, newest first',
  examples: ['destinations list', 'destinations list --state failing --watch', 'destinations list --all --json'],
  flags: {
    status: { type: 'string', meaning: 'only those of this status', value: 'STATUS', options: STATUSES },
    state: { type: 'string', meaning: 'only those that are doing so', value: 'STATE', options: STATES },
  },
  nouns: 'destinations',
  toMakeOne: () => `To make one: ${nextCommand('destinations create https://…')}`,
  list: ({ client, line }, page, signal) => {
    const status = line.textOf('status') as (typeof STATUSES)[number] | null;
    const state = line.textOf('state') as (typeof STATES)[number] | null;
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
