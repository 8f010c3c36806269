// POST /v1/destinations/{id}/test: one request to a destination now, and what came back.
import type { ApiKey } from '../../model/api-key.ts';
import { BODY_BYTES_MAX, ENVELOPE_BYTES_MAX } from '../../model/event.ts';
import type { DestinationId } from '../../model/id.ts';
import { readEventBody, readEventType } from '../input/event-input.ts';
import { notFound, readPathId } from '../input/path-id.ts';
import { presentTestAttempt } from '../output/present.ts';
import type { ApiApp } from '../route-config.ts';
import { testAttempt, testInput, type TestInput } from '../schemas/test.ts';
import type { ApiServices } from '../services.ts';

const TYPE_DEFAULT = 'postrider.test';
const BODY_DEFAULT = new TextEncoder().encode('{"message":"This request was sent to try out the destination."}');

export function addTestRoute(app: ApiApp, services: ApiServices): void {
  app.post('/v1/destinations/:id/test', testing, async ({ caller, params, body }) => {
    return test(services, caller, readPathId(params, 'dst'), body);
  });
}

const testing = {
  schema: {
    tags: ['Destinations'],
    operationId: 'testDestination',
    summary: 'Send one request now, and say what came back',
    description:
      'Signed and made as any attempt, with the header `postrider-test: true`; also while the destination is paused. ' +
      'It is in no list and counts nowhere. At most one a second and destination, and 10 at once on each node. ' +
      'Answers when the receiver has, or its timeout is over.',
    body: testInput,
    response: { 200: testAttempt },
  },
  config: {
    scope: 'manage',
    errors: ['destination_not_found', 'invalid_event_type', 'rate_limited'],
    bodyBytesMax: BODY_BYTES_MAX + ENVELOPE_BYTES_MAX,
    bodyShape: { raw: 'body', isRawOpaque: true, isFlat: true },
    responseDescriptions: { 200: 'It was made, whatever came of it: `outcome` says.' },
  },
} as const;

async function test(services: ApiServices, { environment }: ApiKey, id: DestinationId, input: TestInput) {
  const type = input.type === undefined ? TYPE_DEFAULT : readEventType(input.type);
  const body = input.body === undefined ? BODY_DEFAULT : readEventBody(input.body).bytes;
  const destination = await services.store.readDestination({ environment, id });
  if (destination === null) throw notFound('destination_not_found');
  return presentTestAttempt(await services.testDestination(destination, { type, body }), destination);
}
