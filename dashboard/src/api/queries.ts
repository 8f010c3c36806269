// What pages read, each under a key that begins with its mode, so that nothing of live shows in test or the reverse.
import { keepPreviousData, queryOptions, type QueryClient } from '@tanstack/react-query';
import {
  answerOf,
  api,
  type ApiKey,
  type Delivery,
  type Destination,
  type Mode,
  type Operation,
  type Page,
  type PostriderEvent,
  type Schemas,
  type Subscription,
} from './client.ts';
import { serviceTime } from './service-time.ts';
import { bodyTextOf, parseExact } from '../words/exact-json.ts';

type Query = Record<string, string | undefined>;

const PAGE_SIZE = 50;
const PAGE_SIZE_MAX = 100;
/** What is finished, or configuration, changes seldom: it is asked for again when the window is looked at again. */
const SELDOM = 30_000;

/** As text first: what customers wrote is shown to the digit. It may hold what has no equal to compare it with. */
async function exact<T>(request: Parameters<typeof answerOf<string>>[0]): Promise<T> {
  return parseExact(await answerOf(request)) as T;
}

/** A page of a list. `placeholderData` keeps the old rows in place until the new ones are there: nothing jumps. */
function list<T>(mode: Mode, path: string, query: Query, limit = PAGE_SIZE) {
  return queryOptions({
    queryKey: [mode, path, query, limit],
    queryFn: ({ signal }) =>
      // The lists have one shape and differ in their filters; each caller below names its row.
      answerOf(
        api(mode).GET(path as '/v1/deliveries', { params: { query: { ...query, limit } }, signal }),
      ) as unknown as Promise<Page<T>>,
    placeholderData: keepPreviousData,
  });
}

export const deliveriesQuery = (mode: Mode, query: Query) => list<Delivery>(mode, '/v1/deliveries', query);
export const dlqQuery = (mode: Mode, query: Query) => list<Delivery>(mode, '/v1/dlq', query);
export const eventsQuery = (mode: Mode, query: Query) => list<PostriderEvent>(mode, '/v1/events', query);
export const destinationsQuery = (mode: Mode, query: Query) => list<Destination>(mode, '/v1/destinations', query);
/** To choose among before anything is written. */
export const choicesQuery = (mode: Mode) => ({
  ...list<Destination>(mode, '/v1/destinations', {}, PAGE_SIZE_MAX),
  staleTime: SELDOM,
});
export const subscriptionsQuery = (mode: Mode, query: { destination_id: string }) =>
  queryOptions({
    queryKey: [mode, '/v1/subscriptions', query],
    queryFn: ({ signal }) => {
      const params = { query: { ...query, limit: PAGE_SIZE } };
      return exact<Page<Subscription>>(api(mode).GET('/v1/subscriptions', { params, signal, parseAs: 'text' }));
    },
    structuralSharing: false,
  });

export const keysQuery = (mode: Mode, query: Query) => list<ApiKey>(mode, '/v1/api-keys', query);
export const operationsQuery = (mode: Mode, query: Query) => list<Operation>(mode, '/v1/operations', query);

export const operationQuery = (mode: Mode, id: string) =>
  queryOptions({
    queryKey: [mode, 'operation', id],
    queryFn: ({ signal }) => answerOf(api(mode).GET('/v1/operations/{id}', { params: { path: { id } }, signal })),
  });

export const deliveryQuery = (mode: Mode, id: string) =>
  queryOptions({
    queryKey: [mode, 'delivery', id],
    queryFn: ({ signal }) => answerOf(api(mode).GET('/v1/deliveries/{id}', { params: { path: { id } }, signal })),
    // One that is not over changes by itself.
    refetchInterval: ({ state }) => (state.data && state.data.completed_at === null ? 3_000 : false),
  });

/** `body`: its text, byte for byte; null: it was erased. */
export type EventWithBody = Omit<Schemas['EventWithBody'], 'body'> & { body: string | null };

export const eventQuery = (mode: Mode, id: string) =>
  queryOptions({
    queryKey: [mode, 'event', id],
    queryFn: async ({ signal }): Promise<EventWithBody> => {
      const request = api(mode).GET('/v1/events/{id}', { params: { path: { id } }, signal, parseAs: 'text' });
      const text: string = await answerOf(request);
      const event = JSON.parse(text) as Schemas['EventWithBody'];
      return { ...event, body: event.body === null ? null : bodyTextOf(text) };
    },
  });

export const explainQuery = (mode: Mode, body: Schemas['ExplainInput']) =>
  queryOptions({
    queryKey: [mode, 'explain', body],
    queryFn: ({ signal }) => {
      const request = api(mode).POST('/v1/explain', { body, signal, parseAs: 'text' });
      return exact<Schemas['Explanation']>(request);
    },
    structuralSharing: false,
  });

export const destinationQuery = (mode: Mode, id: string) =>
  queryOptions({
    queryKey: [mode, 'destination', id],
    queryFn: ({ signal }) => answerOf(api(mode).GET('/v1/destinations/{id}', { params: { path: { id } }, signal })),
    staleTime: SELDOM,
  });

export const signingKeysQuery = (mode: Mode, id: string) =>
  queryOptions({
    queryKey: [mode, 'signing-keys', id],
    queryFn: ({ signal }) =>
      answerOf(api(mode).GET('/v1/destinations/{id}/signing-keys', { params: { path: { id } }, signal })),
  });

export const clusterQuery = (mode: Mode) =>
  queryOptions({
    queryKey: [mode, 'cluster'],
    queryFn: ({ signal }) => answerOf(api(mode).GET('/v1/cluster', { signal })),
    refetchInterval: 5_000,
  });

export const healthQuery = (mode: Mode, id: string) =>
  queryOptions({
    queryKey: [mode, 'health', id],
    queryFn: ({ signal }) =>
      answerOf(api(mode).GET('/v1/destinations/{id}/health', { params: { path: { id } }, signal })),
    refetchInterval: 5_000,
  });

export const statsNowQuery = (mode: Mode) =>
  queryOptions({
    queryKey: [mode, 'stats-now'],
    queryFn: ({ signal }) => answerOf(api(mode).GET('/v1/stats/now', { signal })),
    refetchInterval: 5_000,
  });

export type Range = '1h' | '24h' | '7d' | '30d';
export const RANGES: Record<Range, { ms: number; step: Schemas['StatsStep']; label: string }> = {
  '1h': { ms: 3_600_000, step: '1m', label: '1 hour' },
  '24h': { ms: 86_400_000, step: '5m', label: '24 hours' },
  '7d': { ms: 7 * 86_400_000, step: '1h', label: '7 days' },
  '30d': { ms: 30 * 86_400_000, step: '1h', label: '30 days' },
};

export const statsQuery = (mode: Mode, range: Range, destinationId?: string) =>
  queryOptions({
    queryKey: [mode, 'stats', range, destinationId],
    queryFn: ({ signal }) => {
      const { ms, step } = RANGES[range];
      const since = new Date(serviceTime() - ms).toISOString();
      const query = { since, step, ...(destinationId && { destination_id: destinationId }) };
      return answerOf(api(mode).GET('/v1/stats', { params: { query }, signal }));
    },
    refetchInterval: range === '1h' ? 10_000 : 60_000,
    placeholderData: keepPreviousData,
  });

/** So that rows of a list show names without a request each. */
export function rememberDestinations(client: QueryClient, mode: Mode, destinations: readonly Destination[]): void {
  for (const destination of destinations) {
    client.setQueryData(destinationQuery(mode, destination.id).queryKey, destination);
  }
}
