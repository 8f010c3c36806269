// What a search leads to. A whole id is looked up; the beginning of one says when it was made, so the lists are asked
// for that time; names and hosts are looked for among the destinations.
import type { QueryClient } from '@tanstack/react-query';
import { answerOf, api, ApiError } from '../api/client.ts';
import type { Destination, Mode } from '../api/client.ts';
import { deliveryQuery, destinationQuery, eventQuery, operationQuery } from '../api/queries.ts';
import { parseId } from '../words/ids.ts';
import type { ParsedId } from '../words/ids.ts';
import { hostOf, nameOf } from './show.tsx';

export type Target = {
  key: string;
  label: string;
  note: string;
  open?: { to: string; params?: object; search?: object };
  act?: () => void;
};

const FOUND_MAX = 8;
/** Of 100 rows each: a search must not read a whole store. */
const PAGES_MAX = 3;
export const DESTINATIONS_MAX = 2_000;
/** An id may be drawn a moment before or after its row's time is. */
const SLACK_MS = 5_000;

export async function findTargets(
  client: QueryClient,
  mode: Mode,
  text: string,
  signal: AbortSignal,
): Promise<Target[]> {
  const id = parseId(text);
  if (id !== null) return id.isWhole ? findWhole(client, mode, id) : findBeginning(client, mode, id, signal);
  const targets = (await findDestinations(client, mode, text)).map((found) => targetOf(mode, 'dst', found.id, found));
  if (/^[\w-]+(\.[\w-]+)+(\.\*{1,2})?$/.test(text)) {
    const search = { type: text };
    targets.push({ key: 'type', label: text, note: 'events of this type', open: open(mode, '/$mode/events', search) });
  }
  return targets.slice(0, FOUND_MAX);
}

async function findWhole(client: QueryClient, mode: Mode, { kind, text }: ParsedId): Promise<Target[]> {
  try {
    if (kind === 'dlv') await client.fetchQuery(deliveryQuery(mode, text));
    else if (kind === 'evt') await client.fetchQuery(eventQuery(mode, text));
    else if (kind === 'op') await client.fetchQuery(operationQuery(mode, text));
    else if (kind === 'dst') return [targetOf(mode, kind, text, await client.fetchQuery(destinationQuery(mode, text)))];
    else if (kind === 'sub') return [await findSubscription(mode, text)];
    return [targetOf(mode, kind, text)];
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return [];
    throw error;
  }
}

async function findSubscription(mode: Mode, id: string): Promise<Target> {
  const request = api(mode).GET('/v1/subscriptions/{id}', { params: { path: { id } } });
  const { destination_id: destinationId } = await answerOf(request);
  return { ...targetOf(mode, 'dst', destinationId), label: id, note: 'its destination' };
}

async function findBeginning(
  client: QueryClient,
  mode: Mode,
  { kind, text, since, until }: ParsedId,
  signal: AbortSignal,
): Promise<Target[]> {
  if (kind === 'dst') {
    const found = (await allDestinations(client, mode)).filter(({ id }) => id.startsWith(text));
    return found.slice(0, FOUND_MAX).map((destination) => targetOf(mode, kind, destination.id, destination));
  }
  if (kind !== 'dlv' && kind !== 'evt') return [];
  const ids: string[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < PAGES_MAX && ids.length < FOUND_MAX; pages++) {
    const query = { since: timeOf(since - SLACK_MS), until: timeOf(until + SLACK_MS), limit: 100, cursor };
    const page = await readIds(mode, kind, query, signal);
    ids.push(...page.ids.filter((id) => id.startsWith(text)));
    if (page.next === null) break;
    cursor = page.next;
  }
  return ids.slice(0, FOUND_MAX).map((id) => targetOf(mode, kind, id));
}

type IdQuery = { since: string; until: string; limit: number; cursor: string | undefined };

async function readIds(mode: Mode, kind: 'dlv' | 'evt', query: IdQuery, signal: AbortSignal) {
  const { cursor, ...rest } = query;
  const params = { query: cursor === undefined ? rest : { ...rest, cursor } };
  if (kind === 'dlv') {
    const { data, next_cursor: next } = await answerOf(api(mode).GET('/v1/deliveries', { params, signal }));
    return { ids: data.map(({ id }) => id), next };
  }
  const { data, next_cursor: next } = await answerOf(api(mode).GET('/v1/events', { params, signal }));
  return { ids: data.map(({ event_id: id }) => id), next };
}

/** Times that a date cannot hold, such as an id of one character allows, are cut to what it can. */
function timeOf(ms: number): string {
  return new Date(Math.min(Math.max(ms, 0), Date.UTC(9998, 0))).toISOString();
}

async function findDestinations(client: QueryClient, mode: Mode, text: string): Promise<Destination[]> {
  const wanted = text.toLowerCase();
  const all = await allDestinations(client, mode);
  return all.filter(
    ({ name, url }) => name?.toLowerCase().includes(wanted) || hostOf(url).toLowerCase().includes(wanted),
  );
}

const allKey = (mode: Mode) => [mode, 'all-destinations'];

/** Whether there are more destinations than the last search looked at. */
export function isPartSearched(client: QueryClient, mode: Mode): boolean {
  const all = client.getQueryData<Destination[]>(allKey(mode)) ?? [];
  return all.length >= DESTINATIONS_MAX;
}

/** The newest, kept for a minute. */
function allDestinations(client: QueryClient, mode: Mode): Promise<Destination[]> {
  return client.fetchQuery({
    queryKey: allKey(mode),
    staleTime: 60_000,
    queryFn: async () => {
      const all: Destination[] = [];
      let cursor: string | null = null;
      while (all.length < DESTINATIONS_MAX) {
        const query: { limit: number; cursor?: string } = cursor === null ? { limit: 100 } : { limit: 100, cursor };
        const page: { data: Destination[]; next_cursor: string | null } = await answerOf(
          api(mode).GET('/v1/destinations', { params: { query } }),
        );
        all.push(...page.data);
        cursor = page.next_cursor;
        if (cursor === null) break;
      }
      return all;
    },
  });
}

function targetOf(mode: Mode, kind: string, id: string, destination?: Destination): Target {
  if (kind === 'dlv')
    return { key: id, label: id, note: 'delivery', open: open(mode, '/$mode/deliveries/$id', {}, id) };
  if (kind === 'evt') return { key: id, label: id, note: 'event', open: open(mode, '/$mode/events/$id', {}, id) };
  if (kind === 'dst') {
    const label = destination === undefined ? id : nameOf(destination);
    const note = destination === undefined ? 'destination' : hostOf(destination.url);
    return { key: id, label, note, open: open(mode, '/$mode/destinations/$id', {}, id) };
  }
  const to = kind === 'op' ? '/$mode/operations' : '/$mode/keys';
  return { key: id, label: id, note: kind === 'op' ? 'operation' : 'API key', open: open(mode, to) };
}

function open(mode: Mode, to: string, search: object = {}, id?: string) {
  return { to, params: id === undefined ? { mode } : { mode, id }, search };
}
