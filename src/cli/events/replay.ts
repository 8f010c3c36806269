import type { EventReplay } from '../../../sdk/typescript/src/postrider.ts';
import { UsageError } from '../../config.ts';
import { idOf, printResult, serviceCommand, type Asking } from '../api/service-command.ts';
import { BULK_FLAGS, followOperation, perSecondOf, refuseBesideId } from '../bulk/bulk-flags.ts';
import { whereGiven } from '../command.ts';
import { readRange } from '../input/time-flag.ts';
import { print, printJson } from '../output.ts';
import { printable } from '../terminal.ts';

const FOR_MANY = ['type', 'missing-only', ...Object.keys(BULK_FLAGS)];

export const replayEventsCommand = serviceCommand(
  {
    name: 'events replay',
    summary: 'Send an old event again, or with --since many',
    usage: ['events replay ID [--destination ID]', 'events replay --since WHEN [flags]'],
    examples: [
      'events replay evt_…',
      'events replay --since 2h --dry-run',
      'events replay --since 1d --destination dst_… --missing-only --wait',
    ],
    flags: {
      destination: {
        type: 'string',
        meaning: 'only to this one; may be given more than once',
        value: 'ID',
        param: 'destination_ids',
      },
      type: { type: 'string', meaning: 'only this type, or this pattern of types', value: 'TYPE', param: 'event_type' },
      'missing-only': { type: 'boolean', meaning: 'only where the destination never answered the event with a 2xx' },
      ...BULK_FLAGS,
    },
    words: ['ID'],
  },
  async (asking) => {
    const destinations = asking.line.textsOf('destination');
    const named = destinations.length === 0 ? {} : { destination_ids: [...destinations] };
    return asking.line.words.length > 0 ? replayOne(asking, named) : replayMany(asking, named);
  },
);

type Named = { destination_ids?: string[] };

async function replayOne(asking: Asking, named: Named): Promise<void> {
  const { client, line, isJson } = asking;
  refuseBesideId(line, FOR_MANY);
  const id = idOf(line, { prefix: 'evt', noun: 'event' });
  const deliveries = await client.events.replay(id, named);
  if (isJson) for (const delivery of deliveries) await printJson(delivery);
  else
    await print(
      deliveries.length === 0 ? 'No subscription wants it now.' : deliveries.map((one) => printable(one.id)).join('\n'),
    );
}

async function replayMany(asking: Asking, named: Named): Promise<number | void> {
  const { client, line } = asking;
  const { since, ...until } = readRange(line);
  if (since === undefined) throw new UsageError('say which: events replay evt_…, or --since WHEN for many');
  const request: EventReplay = {
    since,
    ...until,
    ...whereGiven({ event_type: line.textOf('type') }),
    ...named,
    missing_only: line.has('missing-only'),
    per_second: perSecondOf(line),
  };
  if (line.has('dry-run')) return printResult(asking, await client.events.replayAll({ ...request, dry_run: true }));
  return followOperation(asking, await client.events.replayAll({ ...request, dry_run: false }));
}
