import { deleteCommand } from '../api/delete-command.ts';

export const deleteDestinationCommand = deleteCommand({
  name: 'destinations delete',
  summary: 'Delete a destination for good; what it has not got yet is never sent',
  examples: ['destinations delete dst_…'],
  kind: { prefix: 'dst', noun: 'destination' },
  remove: ({ client }, id) => client.destinations.delete(id),
});
