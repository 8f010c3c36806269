import { getCommand } from '../api/get-command.ts';

export const destinationHealthCommand = getCommand({
  name: 'destinations health',
  summary: 'Say how a destination is doing, and why',
  examples: ['destinations health dst_…', 'destinations health dst_… --watch'],
  kind: { prefix: 'dst', noun: 'destination' },
  read: async ({ client }, id, options) => ({ id, ...(await client.destinations.health(id, options)) }),
});
