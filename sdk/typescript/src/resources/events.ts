// Events: publishing them, reading them, sending old ones again. Publishing is safe to repeat, for each event has an
// idempotency key, its own or one that is made here.
import type { CallOptions } from '../deadline.ts';
import { UnexpectedAnswerError, type ApiError } from '../errors.ts';
import { bodyTextOf, encode, JsonText } from '../json-text.ts';
import { areRows, List } from '../list.ts';
import type { Input, QueryOf, Schema } from '../shapes.ts';
import { isRefused, refusalOf } from '../refusals.ts';
import { pathOf, type Transport } from '../transport.ts';
import { bulkCall } from './operations.ts';

/** `body`: a JSON object, or a JsonText that is sent as it stands. */
export type EventInput = Omit<Input<Schema<'EventInput'>>, 'body'> & { body: object | JsonText };
export type AcceptedEvent = Schema<'AcceptedEvent'>;
export type Event = Schema<'Event'>;
export type EventWithBody = Schema<'EventWithBody'>;
export type EventQuery = QueryOf<'listEvents'>;
export type EventReplay = Input<Schema<'EventsReplayInput'>>;

/** One of a batch, in its place: accepted, or refused as the event alone would have been. */
export type BatchResult =
  | { status: number; event: AcceptedEvent; error?: undefined }
  | { status: number; event?: undefined; error: ApiError };

export class Events {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Resolves once the event and its deliveries are stored for good. */
  async publish(event: EventInput, options?: CallOptions): Promise<AcceptedEvent> {
    const body = encode(withKey(event));
    const call = { method: 'POST', path: '/v1/events', body, isRepeatable: true, due: { event_id: 'string' } } as const;
    return this.#transport.call(call, options);
  }

  /** 1-1,000 events, 5 MiB. Some may be refused while the others are accepted: each has its own result, in order. */
  async publishBatch(events: readonly EventInput[], options?: CallOptions): Promise<BatchResult[]> {
    const body = `{"events":[${events.map((event) => encode(withKey(event))).join(',')}]}`;
    const call = {
      method: 'POST',
      path: '/v1/events/batch',
      body,
      isRepeatable: true,
      due: { data: 'object' },
    } as const;
    return toBatchResults((await this.#transport.call<Schema<'BatchResults'>>(call, options)).data, events.length);
  }

  list(query: EventQuery = {}, options?: CallOptions): List<Event> {
    return new List(query, (page) =>
      this.#transport.call(
        { method: 'GET', path: '/v1/events', query: { ...query, ...page }, due: { data: 'object' } },
        options,
      ),
    );
  }

  get(id: string, options?: CallOptions): Promise<EventWithBody> {
    return this.#transport.call({ method: 'GET', path: pathOf('events', id), due: { event_id: 'string' } }, options);
  }

  /** Its body as it was published, with all digits of its numbers; null: it has been erased. */
  async body(id: string, options?: CallOptions): Promise<JsonText | null> {
    const event = await this.#transport.callText(
      { method: 'GET', path: pathOf('events', id), due: { event_id: 'string' } },
      options,
    );
    const body = bodyTextOf(event);
    try {
      return body === 'null' ? null : new JsonText(body);
    } catch {
      throw new UnexpectedAnswerError('the answer is no event; is the base URL that of Postrider?', { status: 200 });
    }
  }

  /** Makes new deliveries of an old event: for all that subscribe to it now, or for those named. */
  async replay(id: string, input: Schema<'ReplayInput'> = {}, options?: CallOptions): Promise<Schema<'Delivery'>[]> {
    const call = {
      method: 'POST',
      path: pathOf('events', id, 'replay'),
      body: encode(input),
      due: { data: 'object' },
    } as const;
    const { data } = await this.#transport.call<Schema<'ReplayedDeliveries'>>(call, options);
    if (areRows(data)) return data;
    throw new UnexpectedAnswerError('the answer is no list of deliveries; is the base URL that of Postrider?', {
      status: 202,
    });
  }

  /** Sends many old events again, as an operation; with `dry_run` only says how many. */
  replayAll(input: EventReplay & { dry_run: true }, options?: CallOptions): Promise<Schema<'DryRun'>>;
  replayAll(input: EventReplay & { dry_run?: false | null }, options?: CallOptions): Promise<Schema<'Operation'>>;
  replayAll(input: EventReplay, options?: CallOptions): Promise<Schema<'DryRun'> | Schema<'Operation'>> {
    return this.#transport.call(bulkCall('/v1/events/replay', input), options);
  }
}

function withKey(event: EventInput): EventInput {
  return { ...event, idempotency_key: event.idempotency_key ?? crypto.randomUUID() };
}

/** An event counts as accepted by its own result alone: of an answer that has not one for each, nothing is believed. */
function toBatchResults(data: unknown, count: number): BatchResult[] {
  const results = Array.isArray(data) ? data.map(toBatchResult) : [];
  if (results.length === count && !results.includes(null)) return results as BatchResult[];
  throw new UnexpectedAnswerError(`the answer (HTTP 200) has not one result for each of ${count} events`, {
    status: 200,
  });
}

function toBatchResult(result: Partial<Schema<'BatchResult'>> | null): BatchResult | null {
  const { status, event, error } = result ?? {};
  if (typeof status !== 'number') return null;
  if (status < 300 && typeof event?.event_id === 'string') return { status, event };
  if (status < 400 || !isRefused(error)) return null;
  return { status, error: refusalOf(error, status, error.retry_after_seconds) };
}
