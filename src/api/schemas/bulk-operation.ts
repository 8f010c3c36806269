import { Type } from './type.ts';
import type { Static } from 'typebox';
import { OPERATION_KINDS, OPERATION_STATUSES, PER_SECOND_DEFAULT, PER_SECOND_MAX } from '../../model/operation.ts';
import { deadReason } from './delivery.ts';
import { eventTypePattern } from './event-type.ts';
import {
  closed,
  destinationIds,
  id,
  named,
  nullable,
  omissible,
  oneOf,
  pageOf,
  pageQuery,
  time,
  timeInput,
} from './fields.ts';

const perSecond = Type.Integer({
  minimum: 1,
  maximum: PER_SECOND_MAX,
  description: `How many deliveries a second each destination is given. Default ${PER_SECOND_DEFAULT}.`,
});

const howMembers = {
  dry_run: omissible(Type.Boolean({ description: 'Only count what it would be about.' })),
  per_second: omissible(perSecond),
};

const scheduledRange = {
  since: omissible(timeInput('Scheduled then or later.')),
  until: omissible(timeInput('Scheduled before then.')),
};

export const dlqReplayInput = named(
  'DlqReplayInput',
  closed({
    destination_id: omissible(id('dst')),
    event_type: omissible(eventTypePattern),
    dead_reason: omissible(deadReason),
    ...scheduledRange,
    ...howMembers,
  }),
);
export type DlqReplayInput = Static<typeof dlqReplayInput>;

export const recoverInput = named(
  'RecoverInput',
  closed({ ...scheduledRange, since: timeInput('Scheduled then or later.'), ...howMembers }),
);
export type RecoverInput = Static<typeof recoverInput>;

export const eventsReplayInput = named(
  'EventsReplayInput',
  closed({
    event_type: omissible(eventTypePattern),
    since: timeInput('Accepted then or later.'),
    until: omissible(timeInput('Accepted before then.')),
    // Not null, as in the replay of one event: a list that a program meant to give and did not would be everybody.
    destination_ids: Type.Optional(destinationIds('Only to these; absent: to all that match now.')),
    missing_only: omissible(
      Type.Boolean({ description: 'Only where that destination never answered the event with 2xx.' }),
    ),
    ...howMembers,
  }),
);
export type EventsReplayInput = Static<typeof eventsReplayInput>;

const request = named(
  'OperationRequest',
  closed(
    {
      destination_id: Type.Optional(id('dst')),
      event_type: Type.Optional(eventTypePattern),
      dead_reason: Type.Optional(deadReason),
      destination_ids: Type.Optional(Type.Array(id('dst'))),
      missing_only: Type.Optional(Type.Boolean()),
      since: Type.Optional(time('Inclusive.')),
      until: Type.Optional(time('Exclusive.')),
      per_second: perSecond,
    },
    { description: 'What was asked for.' },
  ),
);

const count = (description: string) => Type.Integer({ minimum: 0, description });

export const operation = named(
  'Operation',
  closed({
    id: id('op'),
    kind: named('OperationKind', oneOf(OPERATION_KINDS)),
    status: named('OperationStatus', oneOf(OPERATION_STATUSES)),
    request,
    total: count('Deliveries that it is about. Where there are very many it grows until all are counted.'),
    done: count('Sent again, or made. What becomes of them their own status says.'),
    failed: count(
      'Could not be made: the destination’s backlog is full, or the event makes too many (counted as one).',
    ),
    skipped: count('Nothing to do, or no way to: no longer dead or waiting, body erased, destination deleted.'),
    created_at: time('When it was asked for. It works on what was there then.'),
    updated_at: time('When it last came further, or was changed.'),
    finished_at: nullable(time('When it ended; null: it has not.')),
    created_by: id('key'),
  }),
);
export const operationPage = pageOf(operation);
export const operationQuery = closed(pageQuery);

export const dryRun = named(
  'DryRun',
  closed({
    count: count('Deliveries that the operation would be about.'),
    oldest: nullable(time('When the oldest of them was scheduled, or its event accepted; null: there are none.')),
    newest: nullable(time('The same of the newest.')),
  }),
);
