// A field for one of all destinations: the newest are there to choose from, any other is found by a part of its name or
// URL, or by its id.
import { Combobox } from '@base-ui/react/combobox';
import { useQuery } from '@tanstack/react-query';
import { useId, useState, type KeyboardEvent } from 'react';
import type { Destination } from '../api/client.ts';
import { choicesQuery, destinationQuery } from '../api/queries.ts';
import { parseId } from '../words/ids.ts';
import { sentence } from '../words/sentence.ts';
import { useMode } from './environment.ts';
import { GO_ON, useDestinationSearch } from './search-destinations.ts';
import { nameOf } from './show.tsx';

type Choice = { id: string; label: string; note?: string };
type Named = Pick<Destination, 'id' | 'name' | 'url'>;

/** Ids of what is among the choices and is no destination. */
const ANY = '';
const GOING_ON = 'more';

type Props = { label: string; any: string; value: string; onChange: (id: string) => void };

/** `any`: what an empty `value` stands for. */
export function DestinationPicker({ label, any, value, onChange }: Props) {
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  /** Null: the field says what is chosen. */
  const [typed, setTyped] = useState<string | null>(null);
  const { data: destination } = useQuery({ ...destinationQuery(useMode(), value), enabled: value !== ANY });
  const chosen = value === ANY ? null : choiceOf(destination ?? value);
  const text = typed?.trim() ?? '';
  const { choices, said, goOn } = useChoices(text, isOpen);
  const items = text === '' ? [{ id: ANY, label: any }, ...choices] : choices;
  const keep = (event: KeyboardEvent & { preventBaseUIHandler: () => void }): void => {
    // Escape would take back what was chosen: what was about one destination would then be about all of them. As it is,
    // it closes the dialog around the field.
    if (event.key === 'Escape' && !isOpen) event.preventBaseUIHandler();
    // Enter would leave what is typed, and send the form around it as if nothing were.
    if (event.key !== 'Enter' || !isOpen) return;
    event.preventDefault();
    if (items.length === 0) event.preventBaseUIHandler();
  };
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <Combobox.Root
        items={items}
        filter={null}
        autoHighlight
        value={chosen}
        isItemEqualToValue={(a: Choice, b: Choice) => a.id === b.id}
        inputValue={typed ?? chosen?.label ?? ''}
        onInputValueChange={(written, { reason }) => setTyped(reason === 'input-change' ? written : null)}
        onOpenChange={(isNowOpen) => {
          setOpen(isNowOpen);
          if (!isNowOpen) setTyped(null);
        }}
        onValueChange={(choice, details) => {
          if (choice?.id === GOING_ON) {
            details.cancel();
            goOn();
          } else onChange(choice?.id ?? ANY);
        }}
      >
        <Combobox.Input
          id={id}
          // The label is hidden from screen readers while the choices are shown, as is all else.
          aria-label={label}
          className="input"
          placeholder={any}
          spellCheck={false}
          onKeyDown={keep}
          // What is written then replaces the name that is there, as it does after Tab.
          onClick={({ currentTarget }) => typed === null && currentTarget.select()}
        />
        <Combobox.Portal>
          <Combobox.Positioner className="above" align="start" sideOffset={4}>
            <Combobox.Popup className="choices">
              <Combobox.List aria-label={label}>
                {(choice: Choice) => (
                  <Combobox.Item key={choice.id} value={choice}>
                    <span className="cut">{choice.label}</span>
                    {choice.note !== undefined && <span className="cut muted small">{choice.note}</span>}
                  </Combobox.Item>
                )}
              </Combobox.List>
              <Combobox.Status className="hint">{said}</Combobox.Status>
            </Combobox.Popup>
          </Combobox.Positioner>
        </Combobox.Portal>
      </Combobox.Root>
    </div>
  );
}

/** What can be chosen as long as `text` is typed, and the way on where that is not all. */
function useChoices(text: string, isOpen: boolean): { choices: Choice[]; said: string; goOn: () => void } {
  const mode = useMode();
  const id = parseId(text);
  const wholeId = id?.kind === 'dst' && id.isWhole ? id.text : null;
  const newest = useQuery({ ...choicesQuery(mode), enabled: isOpen });
  const named = useQuery({ ...destinationQuery(mode, wholeId ?? ''), enabled: wholeId !== null });
  const search = useDestinationSearch(wholeId === null ? text : '');
  // Of a destination that was deleted there are still deliveries.
  if (wholeId !== null) return { choices: [choiceOf(named.data ?? wholeId)], said: '', goOn: () => {} };
  const { error } = text === '' ? newest : search;
  const goOn = text === '' ? () => void newest.refetch() : search.goOn;
  const choices: Choice[] = ((text === '' ? newest.data?.data : search.shown) ?? []).map(choiceOf);
  if (error !== null) {
    choices.push({ id: GOING_ON, label: 'Try again' });
    return { choices, said: sentence(error.message), goOn };
  }
  if (text === '') {
    const said = newest.data?.has_more === true ? `The newest ${choices.length}: write to search the others.` : '';
    return { choices, said, goOn };
  }
  if (search.hasMore) choices.push({ id: GOING_ON, label: GO_ON });
  return { choices, said: search.said, goOn };
}

function choiceOf(destination: Named | string): Choice {
  if (typeof destination === 'string') return { id: destination, label: destination };
  return { id: destination.id, label: nameOf(destination), note: destination.url };
}
