// All destinations, for what the API has no filter for: their list is read, newest first, a step at a time. Whoever
// searches says when to go on, so that no search reads a whole store by itself.
import { infiniteQueryOptions } from '@tanstack/react-query';
import { answerOf, api, type Destination, type Mode, type Page, type Schemas } from './client.ts';

export const STEP_MAX = 2_000;
const PAGE_SIZE_MAX = 100;

/** Without its metadata, of which thousands would be much to keep. */
export type ListedDestination = Pick<Destination, 'id' | 'name' | 'url' | 'status' | 'paused_reason' | 'max_in_flight'>;
type Step = { destinations: ListedDestination[]; next: string | null };
/** As an address has it: the service says what is wrong with it. */
type State = string | undefined;

/** The key begins as those of the lists do: what changes a destination outdates it too. */
export const destinationSteps = (mode: Mode, state: State) =>
  infiniteQueryOptions({
    queryKey: [mode, '/v1/destinations', 'steps', state],
    queryFn: ({ pageParam, signal }) => readStep(mode, state, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
    staleTime: 60_000,
    refetchOnWindowFocus: false,
  });

async function readStep(mode: Mode, state: State, from: string | null, signal: AbortSignal): Promise<Step> {
  const destinations: ListedDestination[] = [];
  let next = from;
  for (let pages = 0; pages < STEP_MAX / PAGE_SIZE_MAX; pages++) {
    const query = {
      limit: PAGE_SIZE_MAX,
      ...(state && { state: state as Schemas['DestinationState'] }),
      ...(next !== null && { cursor: next }),
    };
    const request = api(mode).GET('/v1/destinations', { params: { query }, signal });
    const page: Page<Destination> = await answerOf(request);
    destinations.push(...page.data.map(listed));
    next = page.next_cursor;
    if (next === null) break;
  }
  return { destinations, next };
}

function listed({ id, name, url, status, paused_reason, max_in_flight }: Destination): ListedDestination {
  return { id, name, url, status, paused_reason, max_in_flight };
}

/** By a part of its name or URL, or the beginning of its id. */
export function isFoundBy(text: string, { id, name, url }: ListedDestination): boolean {
  const wanted = text.toLowerCase();
  return name?.toLowerCase().includes(wanted) || url.toLowerCase().includes(wanted) || id.startsWith(wanted);
}
