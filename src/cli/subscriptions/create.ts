import { idOf, printResult, serviceCommand } from '../api/service-command.ts';
import { requireWord, whereGiven } from '../command.ts';
import { jsonObjectOf } from '../input/json-flag.ts';

export const createSubscriptionCommand = serviceCommand(
  {
    name: 'subscriptions create',
    summary: 'Subscribe a destination to a type of event, or to a pattern of types',
    usage: ['subscriptions create DESTINATION TYPE [--filter JSON]'],
    examples: ['subscriptions create dst_… order.paid', 'subscriptions create dst_… order.paid --filter @filter.json'],
    flags: {
      filter: {
        type: 'string',
        meaning: 'conditions on the body, such as {"$.total":{"$gte":100}}: JSON, @file or -',
        value: 'JSON',
      },
    },
    words: ['DESTINATION', 'TYPE'],
  },
  async (asking) => {
    const { client, line } = asking;
    const destinationId = idOf(line, { prefix: 'dst', noun: 'destination' });
    const type = requireWord(line, 1, { what: 'TYPE', example: "subscriptions create dst_… 'order.**'" });
    const subscription = await client.subscriptions.create({
      destination_id: destinationId,
      event_type: type,
      ...whereGiven({ filter: await jsonObjectOf(line, 'filter') }),
    });
    await printResult(asking, subscription);
  },
);
