// What the core told of one environment and is not yet a message: bounded in number and in memory. Beyond that what
// comes is lost, and counted.
import type { Attempt } from '../model/attempt.ts';
import type { DeliveryId } from '../model/id.ts';
import type { Scheduled } from '../model/observer.ts';
import type { Decision } from '../model/transitions.ts';
import type { Message } from './message.ts';

type Accepted = Pick<Scheduled, 'origin' | 'event' | 'backlogFull' | 'dueAt'> & { bodyMembers: string };
type MadeDelivery = Scheduled['deliveries'][number];

/** Each is one message, but for the deliveries of an event, which are as many, and an attempt, which is two. */
export type Note =
  | { about: 'event'; accepted: Accepted; deliveries: readonly MadeDelivery[] }
  | { about: 'deliveries'; accepted: Accepted; deliveries: readonly MadeDelivery[] }
  | { about: 'attempt'; id: DeliveryId; attempt: Attempt; decision: Decision | null; endedAt: number }
  | { about: 'delivery'; id: DeliveryId }
  | { about: 'destination'; message: Omit<Message, 'id'> };

const MESSAGES_MAX = 20_000;
const BYTES_MAX = 16 * 1024 * 1024;

export class Notes {
  #notes: { note: Note; bytes: number }[] = [];
  #messages = 0;
  #bytes = 0;
  #lost = 0;

  get isEmpty(): boolean {
    return this.#notes.length === 0 && this.#lost === 0;
  }

  /** Whether so much more may be noted; else it is lost. To be asked before anything is copied. */
  admit(messages: number, bytes: number): boolean {
    const hasRoom = this.#messages + messages <= MESSAGES_MAX && this.#bytes + bytes <= BYTES_MAX;
    if (!hasRoom) this.#lost += messages;
    return hasRoom;
  }

  /** `bytes`: what it keeps in memory beside itself. */
  add(note: Note, bytes: number): void {
    this.#notes.push({ note, bytes });
    this.#messages += messagesOf(note);
    this.#bytes += bytes;
  }

  /** How many messages were lost before what is taken next. */
  takeLost(): number {
    const lost = this.#lost;
    this.#lost = 0;
    return lost;
  }

  /**
   * The oldest, of so many messages at most, and of about so many bytes; of a long list of deliveries a part, and the
   * rest stays.
   */
  take(max: { messages: number; bytes: number }): Note[] {
    const taken: Note[] = [];
    let room = max.messages;
    let bytes = 0;
    let whole = 0;
    for (const entry of this.#notes) {
      const { note } = entry;
      const size = messagesOf(note);
      if (bytes >= max.bytes) break;
      if (size <= room) {
        taken.push(note);
        room -= size;
        whole++;
        bytes += entry.bytes;
        continue;
      }
      if (note.about === 'deliveries' && room > 0) {
        taken.push({ ...note, deliveries: note.deliveries.slice(0, room) });
        entry.note = { ...note, deliveries: note.deliveries.slice(room) };
        room = 0;
      }
      break;
    }
    this.#notes = this.#notes.slice(whole);
    this.#messages -= max.messages - room;
    this.#bytes -= bytes;
    return taken;
  }
}

export function messagesOf(note: Note): number {
  if (note.about === 'deliveries') return note.deliveries.length;
  return note.about === 'attempt' ? 2 : 1;
}
