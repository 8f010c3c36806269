import { getCommand } from '../api/get-command.ts';

export const getDestinationCommand = getCommand({
  name: 'destinations get',
  summary: 'Show a destination',
  examples: ['destinations get dst_…', 'destinations get dst_… --json'],
  kind: { prefix: 'dst', noun: 'destination' },
  read: ({ client }, id, options) => client.destinations.get(id, options),
});
