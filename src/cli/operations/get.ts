import { getCommand } from '../api/get-command.ts';

export const getOperationCommand = getCommand({
  name: 'operations get',
  summary: 'Show an operation, and how far it has come',
  examples: ['operations get op_…', 'operations get op_… --watch'],
  kind: { prefix: 'op', noun: 'operation' },
  read: ({ client }, id, options) => client.operations.get(id, options),
});
