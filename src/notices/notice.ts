// The service's own events: what it tells of destinations and deliveries to whoever subscribes to `postrider.**`. What
// is in their bodies is documented by api/schemas/operational-events.ts.
import type { DeadReason } from '../model/delivery.ts';
import type { PausedReason } from '../model/destination.ts';
import type { DeliveryId, DestinationId, EventId } from '../model/id.ts';

/** Times are RFC 3339. */
export type NoticeBody =
  | { type: 'postrider.destination.paused'; data: { reason: PausedReason; paused_at: string } }
  | {
      type: 'postrider.destination.recovered';
      data: { after: 'paused' | 'failing'; failing_since: string | null; failed_attempts: number };
    }
  | {
      type: 'postrider.delivery.dead';
      data: {
        delivery_id: DeliveryId;
        event_id: EventId;
        event_type: string;
        dead_reason: DeadReason;
        /** How many have died since this was last told, this one included. */
        count: number;
      };
    }
  | { type: 'postrider.backlog.growing'; data: { unfinished: number; grown_by: number; within_seconds: number } };

export type NoticeType = NoticeBody['type'];

/** Something to tell about one destination. */
export type Notice = NoticeBody & { environment: number; destinationId: DestinationId };
