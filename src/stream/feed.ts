// From what the core tells an observer to messages. Telling must be quick, and it does not say all that lists show of
// an attempt's delivery: so it is noted, and rows are read from the store for many attempts at once.
import type { Attempt } from '../model/attempt.ts';
import { RESPONSE_CODES_MAX, toNewRow, type Delivery } from '../model/delivery.ts';
import type { Destination } from '../model/destination.ts';
import type { Event } from '../model/event.ts';
import type { DeliveryId, DestinationId, MessageId } from '../model/id.ts';
import type { FinishedAttempt, Scheduled } from '../model/observer.ts';
import { READ_DELIVERIES_MAX, type Store } from '../store/store.ts';
import { bodyMembersOf, type Message } from './message.ts';
import { messagesOf, Notes, type Note } from './notes.ts';

/** How resources are written as JSON: as lists show them. */
export type Writers = {
  event: (event: Event) => string;
  attempt: (attempt: Attempt & { deliveryId: DeliveryId }) => string;
  delivery: (delivery: Delivery) => string;
  destination: (destination: Destination) => string;
};

type FeedOptions = {
  environment: number;
  store: Pick<Store, 'readDeliveries'>;
  write: Writers;
  nextId: () => MessageId;
  isPaused: (id: DestinationId) => boolean;
};

/** What is made in one turn: a few milliseconds' work. */
const TAKE_MAX = { messages: Math.min(250, READ_DELIVERIES_MAX), bytes: 256 * 1024 };
/** About what a response header takes. */
const HEADER_BYTES = 64;

export class Feed {
  readonly #options: FeedOptions;
  readonly #notes = new Notes();

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#notes.isEmpty;
  }

  noteScheduled({ origin, event, body, deliveries, backlogFull, dueAt }: Scheduled, isBodyWanted: boolean): void {
    const isNew = origin === 'event';
    const bodyBytes = isNew && isBodyWanted ? body.length : 0;
    if (!this.#notes.admit(deliveries.length + (isNew ? 1 : 0), bodyBytes)) return;
    const bodyMembers = isNew ? bodyMembersOf(body, isBodyWanted) : '';
    const accepted = { origin, event, backlogFull, dueAt, bodyMembers };
    if (isNew) this.#notes.add({ about: 'event', accepted, deliveries }, bodyBytes);
    if (deliveries.length > 0) this.#notes.add({ about: 'deliveries', accepted, deliveries }, 0);
  }

  noteAttempted({ delivery, trigger, result, decision }: FinishedAttempt): void {
    const { responseBody, responseHeaders, startedAt, durationMs } = result;
    const bytes = (responseBody?.length ?? 0) + HEADER_BYTES * (responseHeaders?.length ?? 0);
    if (!this.#notes.admit(2, bytes)) return;
    const attempt: Attempt = {
      attempt: delivery.attemptCount + 1,
      trigger,
      startedAt,
      durationMs: Math.round(durationMs),
      outcome: result.outcome,
      responseCode: result.responseCode,
      responseHeaders,
      // Not ours to keep.
      responseBody: responseBody === null ? null : Uint8Array.from(responseBody),
      responseBodyTruncated: result.responseBodyTruncated,
      error: result.error,
    };
    const endedAt = Math.round(startedAt + durationMs);
    this.#notes.add({ about: 'attempt', id: delivery.id, attempt, decision, endedAt }, bytes);
  }

  noteSentAgain(id: DeliveryId): void {
    if (this.#notes.admit(1, 0)) this.#notes.add({ about: 'delivery', id }, 0);
  }

  noteDestination(destination: Destination): void {
    const data = this.#options.write.destination(destination);
    this.#noteDestination(destination.id, { status: destination.status, data });
  }

  noteDeleted(id: DestinationId): void {
    this.#noteDestination(id, { status: null, data: JSON.stringify({ id, deleted: true }) });
  }

  #noteDestination(id: DestinationId, what: Pick<Message, 'status' | 'data'>): void {
    if (!this.#notes.admit(1, what.data.length)) return;
    const message = { kind: 'destination', destinations: id, eventType: null, bodyMembers: '', ...what } as const;
    this.#notes.add({ about: 'destination', message }, what.data.length);
  }

  /** The next messages, to be made, and how many were lost before them. What the store does not tell is lost. */
  async take(onError: (error: unknown) => void): Promise<{ lost: number; make: () => Message[] }> {
    const lost = this.#notes.takeLost();
    const taken = this.#notes.take(TAKE_MAX);
    try {
      const rows = await this.#readRows(taken);
      return { lost, make: () => taken.flatMap((note) => this.#make(note, rows)) };
    } catch (error) {
      onError(error);
      return { lost: lost + taken.reduce((sum, note) => sum + messagesOf(note), 0), make: () => [] };
    }
  }

  async #readRows(notes: readonly Note[]): Promise<Map<DeliveryId, Delivery>> {
    const { environment, store } = this.#options;
    const ids = new Set(
      notes.flatMap((note) => (note.about === 'attempt' || note.about === 'delivery' ? note.id : [])),
    );
    const rows = ids.size === 0 ? [] : await store.readDeliveries({ environment, ids: [...ids] });
    return new Map(rows.map((row) => [row.id, row]));
  }

  #make(note: Note, rows: ReadonlyMap<DeliveryId, Delivery>): Message[] {
    switch (note.about) {
      case 'event':
        return [this.#makeEvent(note)];
      case 'deliveries':
        return this.#makeDeliveries(note);
      case 'attempt':
        return this.#makeAttempt(note, rows.get(note.id));
      case 'delivery':
        return rows.has(note.id) ? [this.#makeDelivery(rows.get(note.id)!)] : [];
      default:
        return [{ ...note.message, id: this.#options.nextId() }];
    }
  }

  #makeEvent({ accepted: { event, bodyMembers }, deliveries }: Note & { about: 'event' }): Message {
    const { nextId, write } = this.#options;
    const data = write.event(event);
    const destinations = new Set(deliveries.map(({ destinationId }) => destinationId));
    return { id: nextId(), kind: 'event', destinations, eventType: event.type, status: null, data, bodyMembers };
  }

  #makeDeliveries({ accepted, deliveries }: Note & { about: 'deliveries' }): Message[] {
    return deliveries.map((made) => {
      const isPaused = this.#options.isPaused(made.destinationId);
      return this.#makeDelivery(toNewRow(made, accepted, { isDead: accepted.backlogFull.has(made.id), isPaused }));
    });
  }

  #makeDelivery(row: Delivery): Message {
    return { ...this.#about('delivery', row), data: this.#options.write.delivery(row) };
  }

  #makeAttempt(note: Note & { about: 'attempt' }, found: Delivery | undefined): Message[] {
    // Past its retention, and gone; or never recorded, for the shard was another node's by then.
    if (found === undefined || found.attemptCount < note.attempt.attempt) return [];
    const row = rowAfter(found, note);
    const data = this.#options.write.attempt({ ...note.attempt, deliveryId: note.id });
    return [{ ...this.#about('attempt', row), data }, this.#makeDelivery(row)];
  }

  #about(kind: 'attempt' | 'delivery', { destinationId, eventType, status }: Delivery) {
    const id = this.#options.nextId();
    return { id, kind, destinations: destinationId, eventType, status, bodyMembers: '' };
  }
}

/** As the row was when the attempt was recorded, though more may have happened to it since. */
function rowAfter(row: Delivery, { attempt, decision, endedAt }: Note & { about: 'attempt' }): Delivery {
  const later = row.attemptCount - attempt.attempt;
  if (decision === null || (later === 0 && row.status === decision.status)) return row;
  const { status, deadReason, completedAt, dueAt } = decision;
  const shown = Math.min(attempt.attempt, RESPONSE_CODES_MAX);
  return {
    ...row,
    status,
    deadReason,
    attemptCount: attempt.attempt,
    retryCount: attempt.attempt - 1,
    responseCodes: row.responseCodes.slice(0, Math.max(0, row.responseCodes.length - later)).slice(-shown),
    nextAttemptAt: dueAt,
    updatedAt: endedAt,
    completedAt,
  };
}
