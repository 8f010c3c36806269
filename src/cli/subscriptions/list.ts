import type { Subscription } from '../../../sdk/typescript/src/postrider.ts';
import { relativeTime } from '../api/cells.ts';
import { listCommand } from '../api/list-command.ts';
import { whereGiven } from '../command.ts';
import type { Column } from '../table.ts';
import { nextCommand } from '../next-command.ts';

export const listSubscriptionsCommand = listCommand<Subscription>({
  name: 'subscriptions list',
  summary: 'List subscriptions, newest first',
  examples: ['subscriptions list', 'subscriptions list --destination dst_…'],
  flags: {
    destination: { type: 'string', meaning: 'only those of this one', value: 'ID', param: 'destination_id' },
  },
  nouns: 'subscriptions',
  toMakeOne: () => `To make one: ${nextCommand('subscriptions create DESTINATION TYPE')}`,
  list: ({ client, line }, page, signal) =>
    client.subscriptions.list({ ...page, ...whereGiven({ destination_id: line.textOf('destination') }) }, { signal }),
  columns,
});

function columns(now: number): Column<Subscription>[] {
  return [
    { title: 'ID', of: ({ id }) => id },
    { title: 'DESTINATION', of: ({ destination_id: id }) => id },
    { title: 'TYPE', of: ({ event_type: type }) => type },
    { title: 'CREATED', of: ({ created_at: at }) => relativeTime(at, now) },
    { title: 'FILTER', of: ({ filter }) => (filter === null ? '-' : JSON.stringify(filter)) },
  ];
}
