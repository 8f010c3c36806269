import { UsageError } from '../../config.ts';
import { DEAD_REASONS, type DeadReason } from '../../model/delivery.ts';
import { idOf, printResult, serviceCommand, type Asking } from '../api/service-command.ts';
import { BULK_FLAGS, followOperation, perSecondOf, refuseBesideId } from '../bulk/bulk-flags.ts';
import { whereGiven } from '../command.ts';
import { readRange } from '../input/time-flag.ts';

const FOR_MANY = ['all', 'destination', 'type', 'reason', ...Object.keys(BULK_FLAGS)];
const CHOOSING = ['all', 'destination', 'type', 'reason', 'since', 'until'];

export const replayDeadCommand = serviceCommand(
  {
    name: 'dlq replay',
    summary: 'Give a dead delivery a fresh schedule, or many',
    usage: ['dlq replay ID', 'dlq replay --destination ID | --type TYPE | --since WHEN'],
    examples: [
      'dlq replay dlv_…',
      'dlq replay --destination dst_… --since 1d --dry-run',
      'dlq replay --all --per-second 20 --wait',
    ],
    flags: {
      all: { type: 'boolean', meaning: 'every dead delivery of the environment' },
      destination: { type: 'string', meaning: 'only those to this one', value: 'ID', param: 'destination_id' },
      type: { type: 'string', meaning: 'only this type, or this pattern of types', value: 'TYPE', param: 'event_type' },
      reason: {
        type: 'string',
        meaning: 'only those that are dead because of this',
        value: 'REASON',
        options: DEAD_REASONS,
        param: 'dead_reason',
      },
      ...BULK_FLAGS,
    },
    words: ['ID'],
  },
  async (asking) => (asking.line.words.length > 0 ? replayOne(asking) : replayMany(asking)),
);

async function replayOne(asking: Asking): Promise<void> {
  refuseBesideId(asking.line, FOR_MANY);
  const id = idOf(asking.line, { prefix: 'dlv', noun: 'delivery' });
  await printResult(asking, await asking.client.dlq.replay(id));
}

async function replayMany(asking: Asking): Promise<number | void> {
  const { client, line } = asking;
  // A filter that was forgotten must not send everything.
  if (!CHOOSING.some((flag) => line.textOf(flag) !== null || line.has(flag))) {
    throw new UsageError('say which: dlq replay dlv_…, or --destination, --type, --reason, --since, or --all of them');
  }
  const request = {
    ...readRange(line),
    ...whereGiven({
      destination_id: line.textOf('destination'),
      event_type: line.textOf('type'),
      dead_reason: line.textOf('reason') as DeadReason | null,
    }),
    per_second: perSecondOf(line),
  };
  if (line.has('dry-run')) return printResult(asking, await client.dlq.replayAll({ ...request, dry_run: true }));
  return followOperation(asking, await client.dlq.replayAll({ ...request, dry_run: false }));
}
