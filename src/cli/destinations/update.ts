import { UsageError } from '../../config.ts';
import { DESTINATION_STATUSES, type DestinationStatus } from '../../model/destination.ts';
import { idOf, printResult, serviceCommand } from '../api/service-command.ts';
import { whereGiven } from '../command.ts';
import { DESTINATION_FLAGS, readDestinationFlags } from './destination-flags.ts';

export const updateDestinationCommand = serviceCommand(
  {
    name: 'destinations update',
    summary: 'Change, pause or reactivate a destination',
    usage: ['destinations update ID [flags]'],
    examples: [
      'destinations update dst_… --status paused',
      'destinations update dst_… --endpoint https://example.com/new',
    ],
    flags: {
      endpoint: { type: 'string', meaning: 'where it gets events from now on', value: 'URL', param: 'url' },
      status: {
        type: 'string',
        meaning: 'paused: holds its deliveries back',
        value: 'STATUS',
        options: DESTINATION_STATUSES,
      },
      ...DESTINATION_FLAGS,
    },
    words: ['ID'],
  },
  async (asking) => {
    const { client, line } = asking;
    const id = idOf(line, { prefix: 'dst', noun: 'destination' });
    const url = line.textOf('endpoint');
    const status = line.textOf('status') as DestinationStatus | null;
    const patch = { ...whereGiven({ url, status }), ...(await readDestinationFlags(line)) };
    if (Object.keys(patch).length === 0) throw new UsageError('say what to change: --status, --endpoint, --name, …');
    const destination = await client.destinations.update(id, patch);
    await printResult(asking, destination);
  },
);
