// A delivery in a row: what it is, how it stands, and where it goes.
import type { Delivery } from '../../../sdk/typescript/src/postrider.ts';
import { relativeTime, styleOfState } from '../api/cells.ts';
import { whereGiven, type CommandLine, type Flag } from '../command.ts';
import { RANGE_FLAGS, readRange } from '../input/time-flag.ts';
import type { Column } from '../table.ts';

export const DELIVERY_FLAGS = {
  event: { type: 'string', meaning: 'only those of this event', value: 'ID', param: 'event_id' },
  destination: { type: 'string', meaning: 'only those to this one', value: 'ID', param: 'destination_id' },
  ...RANGE_FLAGS,
} as const satisfies Record<string, Flag>;

export function readDeliveryFlags(line: CommandLine) {
  return {
    ...readRange(line),
    ...whereGiven({ event_id: line.textOf('event'), destination_id: line.textOf('destination') }),
  };
}

/** `until`: what the column says that has a dead one's reason, too. */
export function deliveryColumns(now: number, until = 'NEXT'): Column<Delivery>[] {
  return [
    { title: 'ID', of: ({ id }) => id },
    { title: 'STATUS', of: ({ status }) => status, style: ({ status }) => styleOfState(status) },
    {
      title: 'ANSWERS',
      of: ({ response_codes: codes }) => (codes.length === 0 ? '-' : codes.map((code) => code ?? '-').join(' ')),
      widthMax: 11,
    },
    { title: 'TYPE', of: ({ event_type: type }) => type, widthMax: 14 },
    { title: 'CREATED', of: ({ created_at: at }) => relativeTime(at, now) },
    { title: until, of: ({ next_attempt_at: at, dead_reason: reason }) => reason ?? relativeTime(at, now) },
    { title: 'DESTINATION', of: ({ destination_id: id }) => id },
    { title: 'EVENT', of: ({ event_id: id }) => id },
  ];
}
