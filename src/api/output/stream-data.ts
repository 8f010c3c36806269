// How a stream's messages show resources: with the members that lists show, which the response schemas say, and no
// others; a destination's keys and everybody's environment are in memory beside them.
import { attempt, delivery } from '../schemas/delivery.ts';
import { destination } from '../schemas/destination.ts';
import { event } from '../schemas/event.ts';
import type { Attempt } from '../../model/attempt.ts';
import type { Delivery } from '../../model/delivery.ts';
import type { Destination } from '../../model/destination.ts';
import type { Event } from '../../model/event.ts';
import type { DeliveryId } from '../../model/id.ts';
import { present, presentAttempt, presentDestination, presentEvent } from './present.ts';

export const writeEvent = (row: Event): string => EVENT(presentEvent(row));

export const writeDelivery = (row: Delivery): string => DELIVERY(present(row));

export const writeDestination = (row: Destination): string => DESTINATION(presentDestination(row));

export function writeAttempt({ deliveryId, ...row }: Attempt & { deliveryId: DeliveryId }): string {
  return ATTEMPT({ delivery_id: deliveryId, ...presentAttempt(row) });
}

/** Writes the members that the schema has, and these, in their order. */
function writerOf(schema: object, ...others: string[]): (shown: Record<string, unknown>) => string {
  const { properties } = schema as { properties: object };
  const names = [...others, ...Object.keys(properties)];
  return (shown) => {
    const picked: Record<string, unknown> = {};
    for (const name of names) picked[name] = shown[name];
    return JSON.stringify(picked);
  };
}

const EVENT = writerOf(event);
const DELIVERY = writerOf(delivery);
const DESTINATION = writerOf(destination);
const ATTEMPT = writerOf(attempt, 'delivery_id');
