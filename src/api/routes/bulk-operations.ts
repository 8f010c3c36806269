// Sending many again: of the DLQ, of one destination, or old events; and the operations that do it in the background.
import type { FastifyReply } from 'fastify';
import type { ApiKey } from '../../model/api-key.ts';
import { ApiError } from '../../model/error.ts';
import { isId, type DestinationId } from '../../model/id.ts';
import { PER_SECOND_DEFAULT, type OperationAction, type OperationRequest } from '../../model/operation.ts';
import { checkPattern } from '../input/event-input.ts';
import { notFound, readPathId } from '../input/path-id.ts';
import { readTime } from '../input/time-range.ts';
import { presentDryRun, presentOperation } from '../output/present.ts';
import { LOCATION, type ApiApp, type Shared } from '../route-config.ts';
import {
  dlqReplayInput,
  dryRun,
  eventsReplayInput,
  operation,
  operationPage,
  operationQuery,
  recoverInput,
  type DlqReplayInput,
  type EventsReplayInput,
  type RecoverInput,
} from '../schemas/bulk-operation.ts';
import type { ApiServices } from '../services.ts';

const tags = ['Bulk operations'];

export function addBulkOperationRoutes(app: ApiApp, services: ApiServices, { cursors }: Shared): void {
  const { store, operations } = services;

  app.post('/v1/dlq/replay', dlqReplay, async ({ caller, body }, reply) =>
    begin(services, { caller, reply, isDryRun: body.dry_run === true }, await readDlqReplay(services, caller, body)),
  );

  app.post('/v1/destinations/:id/recover', recovery, async ({ caller, params, body }, reply) => {
    const id = readPathId(params, 'dst');
    const request = await readRecovery(services, caller, id, body);
    return begin(services, { caller, reply, isDryRun: body.dry_run === true }, request);
  });

  app.post('/v1/events/replay', eventsReplay, async ({ caller, body }, reply) =>
    begin(services, { caller, reply, isDryRun: body.dry_run === true }, await readEventsReplay(services, caller, body)),
  );

  app.get('/v1/operations', listing, async ({ caller, query }) => {
    const { environment } = caller;
    const scope = { endpoint: 'operations', prefix: 'op', environments: [environment], filters: [] } as const;
    const page = await store.listOperations({ environment, ...cursors.open(scope, query) });
    return cursors.close(scope, { ...page, rows: page.rows.map(presentOperation) });
  });

  app.get('/v1/operations/:id', reading, async ({ caller, params }) => {
    const found = await store.readOperation({ environment: caller.environment, id: readPathId(params, 'op') });
    if (found === null) throw notFound('not_found');
    return presentOperation(found);
  });

  const change =
    (action: OperationAction) =>
    async ({ caller, params }: { caller: ApiKey; params: unknown }) =>
      presentOperation(await operations.change(caller, readPathId(params, 'op'), action));

  app.post('/v1/operations/:id/cancel', cancelling, change('cancel'));
  app.post('/v1/operations/:id/pause', pausing, change('pause'));
  app.post('/v1/operations/:id/resume', resuming, change('resume'));
}

const beginning = (errors: readonly ('destination_not_found' | 'destination_not_subscribed')[], hasPattern: boolean) =>
  ({
    scope: 'operate',
    errors: [
      ...errors,
      ...(hasPattern ? (['invalid_event_type_pattern'] as const) : []),
      'operation_in_progress',
      'over_operation_limit',
      'rate_limited',
    ],
    responseDescriptions: { 200: 'A dry run: nothing has changed.', 202: 'The operation has begun.' },
    responseHeaders: { 202: LOCATION },
  }) as const;

const BEGUN = { 200: dryRun, 202: operation };

const dlqReplay = {
  schema: {
    tags,
    operationId: 'replayDeadDeliveries',
    summary: 'Give many dead deliveries a fresh schedule',
    description: 'Every one in the DLQ that the filter selects; without a filter, all of them.',
    body: dlqReplayInput,
    response: BEGUN,
  },
  config: beginning(['destination_not_found'], true),
} as const;

const recovery = {
  schema: {
    tags,
    operationId: 'recoverDestination',
    summary: 'Send a destination what it has missed',
    description:
      'Its dead deliveries get a fresh schedule, and those that wait for a retry go out now, even while it is paused.',
    body: recoverInput,
    response: BEGUN,
  },
  config: beginning(['destination_not_found'], false),
} as const;

const eventsReplay = {
  schema: {
    tags,
    operationId: 'replayEvents',
    summary: 'Send many old events again',
    description:
      'New deliveries, by the subscriptions as they are when each event has its turn. Events whose body has been ' +
      'erased are left out.',
    body: eventsReplayInput,
    response: BEGUN,
  },
  config: beginning(['destination_not_subscribed'], true),
} as const;

const listing = {
  schema: {
    tags,
    operationId: 'listOperations',
    summary: 'List operations, newest first',
    querystring: operationQuery,
    response: { 200: operationPage },
  },
  config: { scope: 'read', errors: ['invalid_cursor'] },
} as const;

const reading = {
  schema: {
    tags,
    operationId: 'readOperation',
    summary: 'Read an operation, and how far it has come',
    response: { 200: operation },
  },
  config: { scope: 'read', errors: ['not_found'] },
} as const;

const changing = (words: { operationId: string; summary: string; description?: string }) =>
  ({
    schema: { tags, ...words, response: { 200: operation } },
    config: { scope: 'operate', errors: ['not_found', 'operation_ended'] },
  }) as const;

const cancelling = changing({
  operationId: 'cancelOperation',
  summary: 'End an operation where it is',
  description: 'What it has done stays done.',
});
const pausing = changing({ operationId: 'pauseOperation', summary: 'Hold an operation until it is resumed' });
const resuming = changing({ operationId: 'resumeOperation', summary: 'Let a paused operation go on where it was' });

type Beginning = { caller: ApiKey; reply: FastifyReply; isDryRun: boolean };

async function begin({ operations }: ApiServices, { caller, reply, isDryRun }: Beginning, request: OperationRequest) {
  if (isDryRun) return presentDryRun(await operations.dryRun(caller, request));
  const begun = await operations.begin(caller, request);
  reply.code(202).header('location', `/v1/operations/${begun.id}`);
  return presentOperation(begun);
}

async function readDlqReplay(services: ApiServices, caller: ApiKey, body: DlqReplayInput): Promise<OperationRequest> {
  const text = body.destination_id ?? null;
  const eventType = readPattern(body.event_type);
  const range = readRange(body);
  return {
    kind: 'dlq_replay',
    destinationId: text === null ? null : await readDestinationId(services, caller, text, '/destination_id'),
    eventType,
    deadReason: body.dead_reason ?? null,
    ...range,
  };
}

async function readRecovery(services: ApiServices, caller: ApiKey, id: DestinationId, body: RecoverInput) {
  const range = readRange(body);
  const destinationId = await readDestinationId(services, caller, id);
  return { kind: 'destination_recovery', destinationId, ...range } satisfies OperationRequest;
}

async function readEventsReplay({ store }: ApiServices, { environment }: ApiKey, body: EventsReplayInput) {
  const eventType = readPattern(body.event_type);
  const range = readRange(body);
  const destinationIds = body.destination_ids?.map((id, index) => readNamed(id, index)) ?? null;
  for (const [index, id] of destinationIds?.entries() ?? []) {
    if ((await store.readDestination({ environment, id })) === null) throw notSubscribed(index);
  }
  const missingOnly = body.missing_only === true;
  return { kind: 'event_replay', eventType, destinationIds, missingOnly, ...range } satisfies OperationRequest;
}

function readRange(body: { since?: string | null; until?: string | null; per_second?: number | null }) {
  return {
    since: readTime(body.since, '/since'),
    until: readTime(body.until, '/until'),
    perSecond: body.per_second ?? PER_SECOND_DEFAULT,
  };
}

function readPattern(pattern: string | null = null): string | null {
  return pattern === null ? null : checkPattern(pattern, '/event_type');
}

async function readDestinationId(
  { store }: ApiServices,
  { environment }: ApiKey,
  id: string,
  param?: string,
): Promise<DestinationId> {
  if (isId('dst', id) && (await store.readDestination({ environment, id })) !== null) return id;
  throw notFound('destination_not_found', param === undefined ? {} : { param });
}

function readNamed(id: string, index: number): DestinationId {
  if (!isId('dst', id)) throw notSubscribed(index);
  return id;
}

function notSubscribed(index: number): ApiError {
  return new ApiError('destination_not_subscribed', 'there is no destination of this id; nothing was begun', {
    param: `/destination_ids/${index}`,
  });
}
