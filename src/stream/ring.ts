// The last messages of an environment, numbered, bounded in number and in memory. Streams hold a place in it and no
// queue of their own: one that does not read costs nothing, and loses what the ring drops.
import { idTime, isId, type MessageId } from '../model/id.ts';
import { formatGap, formatMessage, formatWithBody, type Loss, type Message, type Subject } from './message.ts';

const RING_MESSAGES_MAX = 10_000;
/** Attempts carry what the receiver answered, and events their bodies if somebody wants them. */
export const RING_BYTES_MAX = 32 * 1024 * 1024;
/** Of an entry and its place, beside its bytes. */
const ENTRY_BYTES = 256;
/** Of each of an event's destinations. */
const DESTINATION_BYTES = 48;
const OVERLAP_MS = 1_000;

export type Entry = {
  id: MessageId;
  /** null: a loss, which everybody is told. */
  subject: Subject | null;
  bytes: Buffer;
  bytesWithBody: Buffer;
};

export class Ring {
  readonly #entries: (Entry | undefined)[] = [];
  readonly #isShared: () => boolean;
  readonly #onDrop: (entry: Entry, place: number) => void;
  /** The place of the oldest, and that of the next. */
  first = 0;
  next = 0;
  /** The id of what came before the oldest. */
  lastDropped: MessageId;
  #bytes = 0;

  /** `origin`: an id made now. `isShared`: with other nodes, now. `onDrop` is told of each entry before it goes. */
  constructor(
    origin: MessageId,
    { isShared, onDrop }: { isShared: () => boolean; onDrop: (entry: Entry, place: number) => void },
  ) {
    this.lastDropped = origin;
    this.#isShared = isShared;
    this.#onDrop = onDrop;
  }

  get bytes(): number {
    return this.#bytes;
  }

  append(message: Message): void {
    const { kind, destinations, eventType, status } = message;
    const bytes = formatMessage(message);
    const bytesWithBody = message.bodyMembers === '' ? bytes : formatWithBody(message);
    this.#add({ id: message.id, subject: { kind, destinations, eventType, status }, bytes, bytesWithBody });
  }

  appendLoss(loss: Loss): void {
    const bytes = formatGap(loss);
    this.#add({ id: loss.id, subject: null, bytes, bytesWithBody: bytes });
  }

  at(place: number): Entry {
    return this.#entries[place % RING_MESSAGES_MAX]!;
  }

  /**
   * Where a stream goes on that had got this message; null: it has lost some. Among several nodes the second before it
   * comes once more: nodes hear of each other's messages in different orders, so on another node there may be some
   * before it that the stream had not got.
   */
  placeAfter(id: string): number | null {
    if (!isId('msg', id)) return null;
    if (id === this.lastDropped) return this.first;
    const place = this.#placeOf(id);
    if (place !== null && !this.#isShared()) return place + 1;
    if (place === null && idTime(id) < idTime(this.lastDropped)) return null;
    const after = idTime(id) - OVERLAP_MS;
    for (let at = this.first; at < this.next; at++) if (idTime(this.at(at).id) >= after) return at;
    return this.next;
  }

  #placeOf(id: MessageId): number | null {
    for (let place = this.next - 1; place >= this.first; place--) if (this.at(place).id === id) return place;
    return null;
  }

  #add(entry: Entry): void {
    const size = sizeOf(entry);
    while (
      this.next > this.first &&
      (this.next - this.first >= RING_MESSAGES_MAX || this.#bytes + size > RING_BYTES_MAX)
    )
      this.#drop();
    this.#entries[this.next % RING_MESSAGES_MAX] = entry;
    this.next++;
    this.#bytes += size;
  }

  #drop(): void {
    const entry = this.at(this.first);
    this.#onDrop(entry, this.first);
    this.#entries[this.first % RING_MESSAGES_MAX] = undefined;
    this.#bytes -= sizeOf(entry);
    this.lastDropped = entry.id;
    this.first++;
  }
}

function sizeOf({ subject, bytes, bytesWithBody }: Entry): number {
  const ofBody = bytesWithBody === bytes ? 0 : bytesWithBody.length;
  const destinations = subject?.destinations ?? '';
  const ofDestinations = typeof destinations === 'string' ? 0 : destinations.size * DESTINATION_BYTES;
  return ENTRY_BYTES + bytes.length + ofBody + ofDestinations;
}
