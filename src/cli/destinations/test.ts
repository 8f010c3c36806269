import { formatDetails } from '../api/details.ts';
import { idOf, serviceCommand } from '../api/service-command.ts';
import { whereGiven } from '../command.ts';
import { DATA_FLAG, jsonObjectOf } from '../input/json-flag.ts';
import { print, printJson } from '../output.ts';
import { terminalWidth } from '../table.ts';

export const testDestinationCommand = serviceCommand(
  {
    name: 'destinations test',
    summary: 'Send one signed request now and say what came back: exit code 1 unless a 2xx',
    usage: ['destinations test ID [--type TYPE] [--data JSON]'],
    examples: ['destinations test dst_…', 'destinations test dst_… --type order.paid --data \'{"order":1}\''],
    flags: {
      type: { type: 'string', meaning: 'of the event that is sent', value: 'TYPE' },
      data: DATA_FLAG,
    },
    words: ['ID'],
  },
  async ({ client, line, isJson }) => {
    const id = idOf(line, { prefix: 'dst', noun: 'destination' });
    const type = line.textOf('type');
    const body = await jsonObjectOf(line, 'data');
    const attempt = await client.destinations.test(id, whereGiven({ type, body }));
    if (isJson) await printJson(attempt);
    else {
      const { request, ...answer } = attempt;
      await print(formatDetails({ ...answer, request_body: request.body }, terminalWidth()));
    }
    return attempt.outcome === 'succeeded' ? 0 : 1;
  },
);
