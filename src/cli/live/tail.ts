// Follows what happens in the service, a line for each message, over restarts of the service.
import type { StreamMessage } from '../../../sdk/typescript/src/postrider.ts';
import { DELIVERY_STATUSES } from '../../model/delivery.ts';
import { DESTINATION_STATUSES } from '../../model/destination.ts';
import { serviceCommand, type Asking } from '../api/service-command.ts';
import { whereGiven } from '../command.ts';
import { nextEnd } from '../end.ts';
import { print, printJson, tell } from '../output.ts';
import { terminalWidth } from '../table.ts';
import { createLink } from './link.ts';
import { formatMessage } from './message-line.ts';

const KINDS = ['event', 'attempt', 'delivery', 'destination'] as const;
const STATUSES = [...DELIVERY_STATUSES, ...DESTINATION_STATUSES] as const;
type Kind = (typeof KINDS)[number];

export const tailCommand = serviceCommand(
  {
    name: 'tail',
    summary: 'Follow what happens, as it happens',
    usage: ['tail [--destination ID] [--status STATUS] [--type TYPE] [flags]'],
    examples: ['tail', "tail --type 'order.**' --status dead", 'tail --destination dst_… --kind attempt --json'],
    flags: {
      destination: { type: 'string', meaning: 'only what is about this one', value: 'ID', param: 'destination_id' },
      status: { type: 'string', meaning: 'only what has this status now', value: 'STATUS', options: STATUSES },
      type: { type: 'string', meaning: 'only this type, or this pattern of types', value: 'TYPE', param: 'event_type' },
      kind: {
        type: 'string',
        meaning: 'only messages of this kind; may be given more than once',
        value: 'KIND',
        options: KINDS,
        default: 'all but attempt',
        param: 'kinds',
      },
    },
  },
  tail,
);

async function tail(asking: Asking): Promise<void> {
  const { client, line, isJson, connection } = asking;
  const stop = new AbortController();
  void nextEnd().then(() => stop.abort());
  const link = createLink(connection, 'deliveries list', () => {
    // With nothing happening, a person would not know whether it works.
    if (terminalWidth() !== null && !isJson) tell(`Following ${connection.url}; Ctrl-C ends it.`);
  });
  const messages = client.stream(queryOf(), { signal: stop.signal, ...link.callbacks });
  for await (const message of messages) {
    if (isJson) await printJson({ kind: message.kind, ...message.data });
    else await print(message.kind === 'gap' ? link.explainGap(message.data.missed) : lineOf(message));
  }

  function lineOf(message: Exclude<StreamMessage, { kind: 'gap' }>): string {
    link.heard(message);
    return formatMessage(message, terminalWidth());
  }

  function queryOf() {
    const kinds = line.textsOf('kind') as Kind[];
    return {
      // Each attempt is a delivery's message too.
      kinds: kinds.length > 0 ? kinds : KINDS.filter((kind) => kind !== 'attempt'),
      ...whereGiven({
        destination_id: line.textOf('destination'),
        status: line.textOf('status') as (typeof STATUSES)[number] | null,
        event_type: line.textOf('type'),
      }),
    };
  }
}
