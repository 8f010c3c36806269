// The bodies of the service's own events, for the document: nobody posts them, whoever subscribes to them gets them.
import { Type } from './type.ts';
import type { TSchema } from 'typebox';
import { deadReason } from './delivery.ts';
import { pausedReason } from './destination.ts';
import { eventType } from './event-type.ts';
import { closed, id, named, nullable, oneOf, time } from './fields.ts';

const about = {
  destination_id: id('dst'),
  destination_name: nullable(Type.String({ description: 'Its `name`.' })),
};

/** By event type: what it says, and the schema of its body. */
export const OPERATIONAL_EVENTS: Readonly<Record<string, { meaning: string; body: TSchema }>> = {
  'postrider.destination.paused': {
    meaning: 'A destination was paused, by a request (`manual`), for failing too long, or because it answered 410.',
    body: named(
      'DestinationPausedBody',
      closed({ ...about, reason: pausedReason, paused_at: time('When it was paused.') }),
    ),
  },
  'postrider.destination.recovered': {
    meaning: 'The first success of a destination that was paused before, or failing.',
    body: named(
      'DestinationRecoveredBody',
      closed({
        ...about,
        after: oneOf(['paused', 'failing']),
        failing_since: nullable(time('Its first failed attempt since the success before; null: it was paused since.')),
        failed_attempts: Type.Integer({ description: 'Failed attempts since then.' }),
      }),
    ),
  },
  'postrider.delivery.dead': {
    meaning: 'A delivery ended without success.',
    body: named(
      'DeliveryDeadBody',
      closed({
        ...about,
        delivery_id: id('dlv'),
        event_id: id('evt'),
        event_type: eventType,
        dead_reason: deadReason,
        count: Type.Integer({
          description:
            'How many deliveries of the destination have died since the last of these events, this included.',
        }),
      }),
    ),
  },
  'postrider.backlog.growing': {
    meaning: 'A thousand deliveries or more wait for a destination, and more with every minute.',
    body: named(
      'BacklogGrowingBody',
      closed({
        ...about,
        unfinished: Type.Integer({ description: 'Deliveries that are pending or retrying.' }),
        grown_by: Type.Integer({ description: 'How many more than when it began to grow.' }),
        within_seconds: Type.Integer({ description: 'How long ago that was.' }),
      }),
    ),
  },
};
