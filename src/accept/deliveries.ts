// From the subscriptions that matched to deliveries: what the store is given, and what dispatch can start.
import type { Configuration } from '../match/follow.ts';
import type { OpenDelivery } from '../model/delivery.ts';
import { idShard } from '../model/id.ts';
import type { EventId } from '../model/id.ts';
import { born } from '../model/transitions.ts';
import type { Ids } from '../runtime/ids.ts';
import type { NewDelivery } from '../store/store.ts';
import type { EventBody } from './incoming-event.ts';

/**
 * One delivery for each matching subscription; its id carries its destination's shard. Null: there would be more than
 * `max`. `destinationIds`: of these destinations only.
 */
export function matchDeliveries(
  configuration: Configuration,
  event: { type: string; body: EventBody },
  { ids, max, destinationIds }: { ids: Ids; max: number; destinationIds?: ReadonlySet<string> },
): NewDelivery[] | null {
  const matches = configuration.matcher.match(event.type, () => event.body.parse(), { max, destinationIds });
  if (matches.length > max) return null;
  return matches.map(({ id, destinationId }) => ({
    id: ids.next('dlv', idShard(destinationId)),
    destinationId,
    subscriptionId: id,
  }));
}

/** As the store has them right after their insertion: due at once. */
export function toOpenDeliveries(
  event: { id: EventId; environment: number; dueAt: number },
  deliveries: readonly NewDelivery[],
): OpenDelivery[] {
  return deliveries.map(({ id, destinationId }) => ({
    ...born(event.dueAt),
    id,
    environment: event.environment,
    eventId: event.id,
    destinationId,
    rev: 0,
    attemptCount: 0,
  }));
}
