import type { DestinationHealth } from '../../../sdk/typescript/src/postrider.ts';
import { percentage } from '../api/cells.ts';
import { formatDetails } from '../api/details.ts';
import { getCommand } from '../api/get-command.ts';

export const destinationHealthCommand = getCommand<DestinationHealth & { id: string }>({
  name: 'destinations health',
  summary: 'Say how a destination is doing, and why',
  examples: ['destinations health dst_…', 'destinations health dst_… --watch'],
  kind: { prefix: 'dst', noun: 'destination' },
  read: async ({ client }, id, options) => ({ id, ...(await client.destinations.health(id, options)) }),
  format: (health, width) => {
    const { success_rate_1h: lastHour, success_rate_24h: lastDay, attempt_seconds: seconds } = health;
    const rates = { success_rate_1h: percentage(lastHour), success_rate_24h: percentage(lastDay) };
    return formatDetails({ ...health, ...rates, attempt_seconds: quantilesText(seconds) }, width);
  },
});

function quantilesText(quantiles: DestinationHealth['attempt_seconds']): string {
  return Object.entries(quantiles)
    .map(([name, seconds]) => `${name} ${seconds === null ? '-' : Number(seconds.toPrecision(3))}`)
    .join('  ');
}
