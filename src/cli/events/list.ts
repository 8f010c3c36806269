import type { Event } from '../../../sdk/typescript/src/postrider.ts';
import { relativeTime } from '../api/cells.ts';
import { listCommand } from '../api/list-command.ts';
import { whereGiven } from '../command.ts';
import { RANGE_FLAGS, readRange } from '../input/time-flag.ts';
import type { Column } from '../table.ts';
import { nextCommand } from '../next-command.ts';

export const listEventsCommand = listCommand<Event>({
  name: 'events list',
  summary: 'List events, newest first',
  examples: ['events list', "events list --type 'order.**' --since 2h", 'events list --all --json'],
  flags: {
    type: { type: 'string', meaning: 'only this type, or this pattern of types', value: 'TYPE' },
    ...RANGE_FLAGS,
  },
  nouns: 'events',
  toMakeOne: () => `To send one: ${nextCommand('trigger order.paid')}`,
  list: ({ client, line }, page, signal) =>
    client.events.list({ ...page, ...readRange(line), ...whereGiven({ type: line.textOf('type') }) }, { signal }),
  columns,
});

function columns(now: number): Column<Event>[] {
  return [
    { title: 'ID', of: ({ event_id: id }) => id },
    { title: 'TYPE', of: ({ type }) => type },
    { title: 'ACCEPTED', of: ({ created_at: at }) => relativeTime(at, now) },
    { title: 'IDEMPOTENCY KEY', of: ({ idempotency_key: key }) => key ?? '-' },
  ];
}
