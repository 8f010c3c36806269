import { UsageError } from '../../config.ts';
import { idOf, printResult, serviceCommand } from '../api/service-command.ts';
import { BULK_FLAGS, followOperation, perSecondOf } from '../bulk/bulk-flags.ts';
import { readRange } from '../input/time-flag.ts';

export const recoverDestinationCommand = serviceCommand(
  {
    name: 'destinations recover',
    summary: 'Send a destination what it has missed: what is dead, and what waits for a retry',
    usage: ['destinations recover ID --since WHEN [flags]'],
    examples: ['destinations recover dst_… --since 6h --dry-run', 'destinations recover dst_… --since 6h --wait'],
    flags: BULK_FLAGS,
    words: ['ID'],
  },
  async (asking) => {
    const { client, line } = asking;
    const id = idOf(line, { prefix: 'dst', noun: 'destination' });
    const { since, ...until } = readRange(line);
    if (since === undefined) throw new UsageError('--since is missing: when the trouble began, such as --since 6h');
    const request = { since, ...until, per_second: perSecondOf(line) };
    if (line.has('dry-run')) {
      return printResult(asking, await client.destinations.recover(id, { ...request, dry_run: true }));
    }
    return followOperation(asking, await client.destinations.recover(id, { ...request, dry_run: false }));
  },
);
