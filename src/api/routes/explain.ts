// POST /v1/explain: which subscriptions want an event, which nearly do, and why.
import type { EventBody } from '../../accept/incoming-event.ts';
import type { ApiKey } from '../../model/api-key.ts';
import { ApiError } from '../../model/error.ts';
import { BODY_BYTES_MAX, ENVELOPE_BYTES_MAX } from '../../model/event.ts';
import { isId } from '../../model/id.ts';
import { readEventBody, readEventType } from '../input/event-input.ts';
import { notFound } from '../input/path-id.ts';
import { JSON_TYPE } from '../output/error-response.ts';
import type { ApiApp } from '../route-config.ts';
import { explainInput, explanation, type ExplainInput } from '../schemas/explanation.ts';
import type { ApiServices } from '../services.ts';
import { isErased } from './events.ts';

export function addExplainRoute(app: ApiApp, services: ApiServices): void {
  app.post('/v1/explain', explaining, async ({ caller, body }, reply) => {
    const { type, bytes } = await readSubject(services, caller, body);
    const json = await services.explain({ environment: caller.environment, type, bytes });
    // Written where it was found out, by the schema that is documented: there is nothing left to serialise.
    return reply
      .header('content-type', JSON_TYPE)
      .send(Buffer.from(json.buffer, json.byteOffset, json.length) as never);
  });
}

const explaining = {
  schema: {
    tags: ['Events'],
    operationId: 'explainEvent',
    summary: 'Say which subscriptions want an event, and why others do not',
    description:
      'Of an event that was accepted, or of one that might be: every subscription whose pattern matches, or would ' +
      'with one segment of the event type more or less, with each condition of its filter, as subscriptions are now. ' +
      'Nothing is sent or stored.',
    body: explainInput,
    response: { 200: explanation },
  },
  config: {
    scope: 'read',
    errors: ['invalid_event_type', 'event_not_found', 'event_too_old', 'rate_limited'],
    bodyBytesMax: BODY_BYTES_MAX + ENVELOPE_BYTES_MAX,
    bodyShape: { raw: 'body', isRawOpaque: true, isFlat: true },
  },
} as const;

type Subject = { type: string; bytes: EventBody['bytes'] };

async function readSubject(services: ApiServices, caller: ApiKey, input: ExplainInput): Promise<Subject> {
  const { event_id: eventId, type, body } = input;
  if (eventId === undefined) {
    if (type === undefined) throw missing('type');
    if (body === undefined) throw missing('body');
    return { type: readEventType(type), bytes: readEventBody(body).bytes };
  }
  if (type !== undefined) throw superfluous('type');
  if (body !== undefined) throw superfluous('body');
  return readStored(services, caller, eventId);
}

async function readStored(services: ApiServices, { environment }: ApiKey, eventId: string): Promise<Subject> {
  const param = '/event_id';
  const found = isId('evt', eventId) ? await services.store.readEvent({ environment, id: eventId }) : null;
  if (found === null) throw notFound('event_not_found', { param });
  const { event, body } = found;
  if (body !== null && !isErased(services, event)) return { type: event.type, bytes: body };
  throw new ApiError('event_too_old', 'the body of this event has been erased; give a type and a body', { param });
}

function missing(name: string): ApiError {
  const message = `"${name}" is missing: give "type" and "body", or "event_id" alone`;
  return new ApiError('invalid_request', message, { param: `/${name}` });
}

function superfluous(name: string): ApiError {
  const message = `with "event_id", "${name}" is the stored event's; leave it out`;
  return new ApiError('invalid_request', message, { param: `/${name}` });
}
