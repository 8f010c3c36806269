// Chooses by name among the newest destinations, or by id; the one in the address is there in any case.
import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { choicesQuery, destinationQuery } from '../api/queries.ts';
import type { Search } from '../router.tsx';
import { useMode } from './environment.ts';
import { SelectFilter, TextFilter } from './filters.tsx';
import { nameOf } from './show.tsx';

export function DestinationFilter({ any = 'Any destination' }: { any?: string }) {
  const mode = useMode();
  const search: Search = useSearch({ strict: false });
  const chosenId = search['destination_id'];
  const { data: page } = useQuery(choicesQuery(mode));
  const { data: chosen } = useQuery({ ...destinationQuery(mode, chosenId ?? ''), enabled: chosenId !== undefined });
  const listed = page?.data ?? [];
  const choices = listed.map((destination) => ({ value: destination.id, label: nameOf(destination) }));
  if (chosenId !== undefined && !listed.some(({ id }) => id === chosenId)) {
    choices.unshift({ value: chosenId, label: chosen === undefined ? chosenId : nameOf(chosen) });
  }
  return (
    <>
      <SelectFilter name="destination_id" label="Destination" any={any} choices={choices} />
      {page?.has_more && <TextFilter name="destination_id" label="Or by its id" placeholder="dst_…" />}
    </>
  );
}
