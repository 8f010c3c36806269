import type { Operation } from '../../../sdk/typescript/src/postrider.ts';
import { relativeTime, styleOfState } from '../api/cells.ts';
import { listCommand } from '../api/list-command.ts';
import type { Column } from '../table.ts';

export const listOperationsCommand = listCommand<Operation>({
  name: 'operations list',
  summary: 'List operations, newest first',
  examples: ['operations list', 'operations list --watch'],
  nouns: 'operations',
  list: ({ client }, page, signal) => client.operations.list(page, { signal }),
  columns,
});

function columns(now: number): Column<Operation>[] {
  return [
    { title: 'ID', of: ({ id }) => id },
    { title: 'STATUS', of: ({ status }) => status, style: ({ status }) => styleOfState(status) },
    { title: 'DONE', of: ({ done, total }) => `${done} of ${total}` },
    { title: 'CREATED', of: ({ created_at: at }) => relativeTime(at, now) },
    { title: 'FAILED', of: ({ failed }) => String(failed) },
    { title: 'SKIPPED', of: ({ skipped }) => String(skipped) },
    { title: 'KIND', of: ({ kind }) => kind },
    { title: 'REQUEST', of: ({ request }) => JSON.stringify(request) },
  ];
}
