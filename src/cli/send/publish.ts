// Publishes one event. --key is the API key, as everywhere, or the event's idempotency key: which, its form says.
import { JsonText } from '../../../sdk/typescript/src/json-text.ts';
import { UsageError } from '../../config.ts';
import { readConnection } from '../api/connection.ts';
import { serviceCommand, type Asking } from '../api/service-command.ts';
import { requireWord, whereGiven, type CommandLine } from '../command.ts';
import { DATA_FLAG, jsonTextOf } from '../input/json-flag.ts';
import { printAccepted } from './accepted.ts';

const API_KEY = /^pr_(?:test|live)_/;

export const publishCommand = serviceCommand(
  {
    name: 'publish',
    summary: 'Publish an event',
    usage: ['publish TYPE [--data JSON|@file|-] [--key KEY] [flags]'],
    examples: [
      'publish order.paid --data \'{"order":1}\'',
      'publish order.paid --data @order.json --key order-1-paid',
      'publish order.paid --data - < order.json',
    ],
    flags: {
      data: DATA_FLAG,
      // Before --key, which may be there for the API key: an error of the service names the first that is given.
      'idempotency-key': { type: 'string', meaning: 'the idempotency key, whatever it begins with', value: 'KEY' },
      key: {
        type: 'string',
        meaning: 'the same; but what begins with pr_test_ or pr_live_ is the API key. May be given for each',
        value: 'KEY',
        param: 'idempotency_key',
      },
      'occurred-at': { type: 'string', meaning: 'when it happened', value: 'TIME', default: 'now' },
    },
    words: ['TYPE'],
  },
  publish,
  (line) => readConnection(line, lastOf(line, true)),
);

async function publish(asking: Asking): Promise<void> {
  const { client, line } = asking;
  const type = requireWord(line, 0, { what: 'TYPE', example: "publish order.paid --data '{}'" });
  const key = line.textOf('idempotency-key') ?? lastOf(line, false);
  if (line.textOf('idempotency-key') !== null && lastOf(line, false) !== null) {
    throw new UsageError('--key and --idempotency-key both give an idempotency key: leave one of them out');
  }
  const event = await client.events.publish({
    type,
    // As it was written: numbers keep their digits.
    body: new JsonText((await jsonTextOf(line, 'data')) ?? '{}'),
    ...whereGiven({ idempotency_key: key, occurred_at: line.textOf('occurred-at') }),
  });
  await printAccepted(asking, event);
}

function lastOf(line: CommandLine, isApiKey: boolean): string | null {
  return line.textsOf('key').findLast((text) => API_KEY.test(text) === isApiKey) ?? null;
}
