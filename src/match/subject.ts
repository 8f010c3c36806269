// The destination that an event of the service's own is about. It does not get the event: its trouble would be told to
// the one that cannot hear it, and an event about each of those events would follow.
import { isOperational } from '../model/event-type.ts';

/** Null: the event is a producer's, or about no destination. `parse`: the event's body, of parseBody. */
export function findSubject(type: string, parse: () => unknown): string | null {
  if (!isOperational(type)) return null;
  const { destination_id: id } = parse() as { destination_id?: unknown };
  return typeof id === 'string' ? id : null;
}
