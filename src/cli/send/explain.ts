// Which subscriptions want an event, and why others do not. Nothing is sent or stored.
import { JsonText } from '../../../sdk/typescript/src/json-text.ts';
import type { Explanation } from '../../../sdk/typescript/src/postrider.ts';
import { UsageError } from '../../config.ts';
import { serviceCommand, type Asking } from '../api/service-command.ts';
import { DATA_FLAG, jsonTextOf } from '../input/json-flag.ts';
import { print, printJson } from '../output.ts';
import { paint, terminalWidth } from '../table.ts';
import { breakAtSpaces, joinWithin, printable } from '../terminal.ts';

export const explainCommand = serviceCommand(
  {
    name: 'explain',
    summary: 'Say which subscriptions want an event, and why others do not',
    usage: ['explain TYPE [--data JSON|@file|-] [flags]', 'explain --event ID [flags]'],
    examples: ['explain order.paid --data \'{"total":90}\'', 'explain --event evt_…'],
    flags: {
      data: DATA_FLAG,
      event: { type: 'string', meaning: 'an event that was accepted', value: 'ID', param: 'event_id' },
    },
    words: ['TYPE'],
  },
  async (asking) => {
    const { subscriptions } = JSON.parse(await explain(asking), keepDigits) as Explanation;
    if (asking.isJson) for (const subscription of subscriptions) await printJson(subscription);
    else if (subscriptions.length === 0) await print('No subscription wants it, and none nearly does.');
    else await print(subscriptions.map(describe).join('\n'));
  },
);

async function explain({ client, line }: Asking): Promise<string> {
  const event = line.textOf('event');
  const [type] = line.words;
  const data = await jsonTextOf(line, 'data');
  if (event === null) {
    if (type === undefined)
      throw new UsageError("say of which event: explain order.paid --data '{}', or --event evt_…");
    return client.explainText({ type, body: new JsonText(data ?? '{}') });
  }
  if (type !== undefined || data !== null) {
    throw new UsageError('--event has a type and a body of its own: leave TYPE and --data out');
  }
  return client.explainText({ event_id: event });
}

type Source = { source?: string };
/** What TypeScript does not know yet. */
const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown };

/** A number that JavaScript would round stays as the event has it: the service compares all digits. */
function keepDigits(_name: string, value: unknown, { source }: Source = {}): unknown {
  return typeof value === 'number' && source !== undefined && String(value) !== source ? rawJSON(source) : value;
}

function describe(subscription: Explanation['subscriptions'][number]): string {
  const { subscription_id: id, destination_id: destination, matches, pattern_matches: fits, filter } = subscription;
  const verdict = matches
    ? paint('green', '✔ wants it')
    : paint('red', fits ? '✘ its filter does not hold' : '✘ its pattern is for other types');
  const width = terminalWidth() ?? Number.POSITIVE_INFINITY;
  const conditions = filter.flatMap(({ path, operator, expected, found, holds }) => {
    const mark = holds ? paint('green', '✔') : paint('red', '✘');
    const text = printable(`${path} ${operator} ${JSON.stringify(expected)}; found ${JSON.stringify(found)}`);
    return breakAtSpaces(text, width - 4).map((line, i) => `  ${i === 0 ? mark : ' '} ${line}`);
  });
  const head = joinWithin([printable(id), printable(`→ ${destination}`)], { columns: width, gap: '  ' });
  return [...head, `  ${verdict}`, ...conditions].join('\n');
}
