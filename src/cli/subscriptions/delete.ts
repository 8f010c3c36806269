import { deleteCommand } from '../api/delete-command.ts';

export const deleteSubscriptionCommand = deleteCommand({
  name: 'subscriptions delete',
  summary: 'Delete a subscription: no event that comes later goes through it',
  examples: ['subscriptions delete sub_…'],
  kind: { prefix: 'sub', noun: 'subscription' },
  remove: ({ client }, id) => client.subscriptions.delete(id),
});
