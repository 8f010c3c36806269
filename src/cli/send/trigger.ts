// Publishes an event with a made-up body, to see something happen. With a live key only if told so: it would reach the
// receivers of real customers.
import { UsageError } from '../../config.ts';
import { formatTime } from '../../model/time.ts';
import { systemClock } from '../../runtime/clock.ts';
import { isLiveKey } from '../api/connection.ts';
import { serviceCommand } from '../api/service-command.ts';
import { requireWord } from '../command.ts';
import { printAccepted } from './accepted.ts';

export const triggerCommand = serviceCommand(
  {
    name: 'trigger',
    summary: 'Publish a sample event, with a made-up body',
    usage: ['trigger TYPE [--live] [flags]'],
    examples: ['trigger order.paid', 'trigger customer.created --json'],
    flags: { live: { type: 'boolean', meaning: 'also with a live key: real receivers get it' } },
    words: ['TYPE'],
  },
  async (asking) => {
    const { client, line, connection } = asking;
    const type = requireWord(line, 0, { what: 'TYPE', example: 'trigger order.paid' });
    if (isLiveKey(connection.key) && !line.has('live')) {
      throw new UsageError('this is a live key: a sample would reach real receivers. If you mean it, say --live');
    }
    const event = await client.events.publish({ type, body: sampleOf(type, systemClock.now()) });
    await printAccepted(asking, event);
  },
);

/** `order.paid` is about an order that is paid. */
function sampleOf(type: string, now: number): object {
  const segments = type.split('.');
  const [noun = 'thing'] = segments;
  const id = `${noun}_${now.toString(36)}`;
  return {
    sample: true,
    [noun]: { id, status: segments.slice(1).join('.'), amount: 129.9, currency: 'EUR', created_at: formatTime(now) },
  };
}
