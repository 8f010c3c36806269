// What a search leads to. A whole id is looked up; the beginning of one says when it was made, so the lists are asked
// for that time; names and hosts are looked for among the destinations.
import type { QueryClient } from '@tanstack/react-query';
import { answerOf, api, ApiError, type Mode } from '../api/client.ts';
import { destinationSteps, isFoundBy, type ListedDestination } from '../api/destination-steps.ts';
import { deliveryQuery, destinationQuery, eventQuery, operationQuery } from '../api/queries.ts';
import { parseId, type ParsedId } from '../words/ids.ts';
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
/** An id may be drawn a moment before or after its row's time is. */
const SLACK_MS = 5_000;

/** `searched`: how many destinations, the newest, where there are more of them; else null. */
export type Found = { targets: Target[]; searched: number | null };

export async function findTargets(client: QueryClient, mode: Mode, text: string, signal: AbortSignal): Promise<Found> {
  const id = parseId(text);
  if (id?.isWhole) return { targets: await findWhole(client, mode, id), searched: null };
  if (id !== null && id.kind !== 'dst') return { targets: await findBeginning(mode, id, signal), searched: null };
  const found = await findDestinations(client, mode, text);
  if (/^[\w-]+(\.[\w-]+)+(\.\*{1,2})?$/.test(text)) {
    const search = { type: text };
    const target = { key: 'type', label: text, note: 'events of this type', open: open(mode, '/$mode/events', search) };
    found.targets.push(target);
  }
  return found;
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
  mode: Mode,
  { kind, text, since, until }: ParsedId,
  signal: AbortSignal,
): Promise<Target[]> {
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

/** What is more than a search shows, or looks at, is on the page that can go on with it. */
async function findDestinations(client: QueryClient, mode: Mode, text: string): Promise<Found> {
  const { pages } = await client.fetchInfiniteQuery(destinationSteps(mode, undefined));
  const read = pages.flatMap(({ destinations }) => destinations);
  const found = read.filter((destination) => isFoundBy(text, destination));
  const targets = found.slice(0, FOUND_MAX).map((destination) => targetOf(mode, 'dst', destination.id, destination));
  const isPart = pages.at(-1)!.next !== null;
  if (isPart || found.length > FOUND_MAX) {
    const label = `All destinations with “${text}”`;
    targets.push({ key: 'all', label, note: 'search', open: open(mode, '/$mode/destinations', { search: text }) });
  }
  return { targets, searched: isPart ? read.length : null };
}

function targetOf(mode: Mode, kind: string, id: string, destination?: ListedDestination): Target {
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
