// Subscriptions between rows and values.
import { formatId } from '../../model/id.ts';
import type { Subscription } from '../../model/subscription.ts';

export type SubscriptionRow = {
  id: Uint8Array;
  environment: number;
  destination_id: Uint8Array;
  event_type: string;
  filter: string | null;
  created_at: number;
  deleted_at: number | null;
};

export function toSubscription(row: SubscriptionRow): Subscription {
  return {
    id: formatId('sub', row.id),
    environment: row.environment,
    destinationId: formatId('dst', row.destination_id),
    eventType: row.event_type,
    filter: row.filter,
    createdAt: row.created_at,
  };
}
