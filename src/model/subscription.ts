// Which events go to which destination.
import type { DestinationId, SubscriptionId } from './id.ts';

export const SUBSCRIPTIONS_PER_DESTINATION_MAX = 1_000;

export type Subscription = {
  id: SubscriptionId;
  environment: number;
  destinationId: DestinationId;
  /** An exact event type or a pattern. */
  eventType: string;
  /** JSON text as it was sent, less white space around it; null: every body. */
  filter: string | null;
  createdAt: number;
};
