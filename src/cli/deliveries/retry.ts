import { idOf, printResult, serviceCommand } from '../api/service-command.ts';

export const retryDeliveryCommand = serviceCommand(
  {
    name: 'deliveries retry',
    summary: 'Make one attempt now, whatever the schedule says',
    usage: ['deliveries retry ID'],
    examples: ['deliveries retry dlv_…'],
    words: ['ID'],
  },
  async (asking) => {
    const id = idOf(asking.line, { prefix: 'dlv', noun: 'delivery' });
    await printResult(asking, await asking.client.deliveries.retry(id));
  },
);
