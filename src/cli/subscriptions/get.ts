import { getCommand } from '../api/get-command.ts';

export const getSubscriptionCommand = getCommand({
  name: 'subscriptions get',
  summary: 'Show a subscription',
  examples: ['subscriptions get sub_…'],
  kind: { prefix: 'sub', noun: 'subscription' },
  read: ({ client }, id, options) => client.subscriptions.get(id, options),
});
