// Events with their deliveries, of which there may be very many: written page by page.
import type { FastifyReply } from 'fastify';
import type { AcceptedEvent } from '../../accept/accept.ts';
import type { Event, ScheduledDelivery } from '../../model/event.ts';
import {
  DELIVERIES_SHOWN_MAX,
  SCHEDULED_PAGE,
  type EventWithBody,
  type ScheduledPageRequest,
} from '../../store/store.ts';
import { readPatiently, type Piece } from './pieces.ts';
import { presentEventWithDeliveries, presentScheduled } from './present.ts';
import { acceptedEvent, scheduledDelivery } from '../schemas/event.ts';
import type { ApiServices } from '../services.ts';

type Services = Pick<ApiServices, 'store' | 'clock' | 'log'>;
type Pages = Iterable<ScheduledDelivery[]> | AsyncIterable<ScheduledDelivery[]>;

/** Serialisers are looked up by these objects. */
const ACCEPTED_EVENT: Record<string, unknown> = { ...acceptedEvent };
const SCHEDULED_DELIVERY: Record<string, unknown> = { ...scheduledDelivery };

/** What the answer to an event's POST is: of a repeat what the first answer listed, with statuses as they are now. */
export function pieceAccepted(services: Services, reply: FastifyReply, accepted: AcceptedEvent): AsyncGenerator<Piece> {
  const { event } = accepted;
  const { environment, id: eventId } = event;
  const pages = accepted.isRepeat
    ? readPages(services, { environment, eventId, which: 'first', after: null })
    : cutIntoPages(accepted.deliveries);
  return pieceEvent(reply, event, pages);
}

/** An event that was read, with the newest of its deliveries and its body as it was posted. */
export async function* pieceStored(
  services: Services,
  reply: FastifyReply,
  { event, deliveries, body }: EventWithBody,
): AsyncGenerator<Piece> {
  const { environment, id: eventId } = event;
  const first = { deliveries, request: { environment, eventId, which: 'all' } as const };
  // Parsing the body would change its numbers and the order of its keys.
  yield* pieceEvent(reply, event, readShown(services, first), [',"body":', body ?? 'null']);
}

/** `more`: members that follow. */
async function* pieceEvent(
  reply: FastifyReply,
  event: Event,
  pages: Pages,
  more: readonly Piece[] = [],
): AsyncGenerator<Piece> {
  const empty = reply.serializeInput(presentEventWithDeliveries(event, []), ACCEPTED_EVENT);
  yield empty.slice(0, -']}'.length);
  let separator = '';
  for await (const page of pages) {
    if (page.length === 0) continue;
    const rows = page.map((delivery) => reply.serializeInput(presentScheduled(delivery), SCHEDULED_DELIVERY));
    yield separator + rows.join(',');
    separator = ',';
  }
  yield ']';
  yield* more;
  yield '}';
}

function* cutIntoPages(deliveries: ScheduledDelivery[]): Generator<ScheduledDelivery[]> {
  for (let i = 0; i < deliveries.length; i += SCHEDULED_PAGE) yield deliveries.slice(i, i + SCHEDULED_PAGE);
}

/** The first page that was read with the event, and those that follow. */
async function* readShown(
  services: Services,
  first: { deliveries: ScheduledDelivery[]; request: Omit<ScheduledPageRequest, 'after'> },
): AsyncGenerator<ScheduledDelivery[]> {
  yield first.deliveries;
  if (first.deliveries.length < SCHEDULED_PAGE) return;
  let left = DELIVERIES_SHOWN_MAX - first.deliveries.length;
  for await (const page of readPages(services, { ...first.request, after: first.deliveries.at(-1)!.id })) {
    // A replay may have added some since.
    yield page.slice(0, left);
    left -= page.length;
    if (left <= 0) return;
  }
}

async function* readPages(services: Services, request: ScheduledPageRequest): AsyncGenerator<ScheduledDelivery[]> {
  let { after } = request;
  for (;;) {
    const asked = { ...request, after };
    const page = await readPatiently(services, 'deliveries of an event', () =>
      services.store.readScheduledDeliveries(asked),
    );
    yield page;
    if (page.length < SCHEDULED_PAGE) return;
    after = page.at(-1)!.id;
  }
}
