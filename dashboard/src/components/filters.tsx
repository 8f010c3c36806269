// Filters live in the address: a link shows what its sender saw, and back undoes the last change.
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useId, useState, type ReactNode } from 'react';
import { serviceTime } from '../api/service-time.ts';
import type { Search } from '../router.tsx';
import { DestinationPicker } from './destination-picker.tsx';

const TYPING_MS = 400;

export function useFilters(): [Search, (change: Search) => void] {
  const search: Search = useSearch({ strict: false });
  const navigate = useNavigate();
  // A cursor belongs to the filters that made it.
  const change = (changed: Search): void =>
    void navigate({ to: '.', search: { ...search, ...start(search), ...changed } });
  return [search, change];
}

/** What of the address belongs to a later page of a list, undone. */
export function start(search: Search): Search {
  return { cursor: undefined, ...(search['period'] !== undefined && { since: undefined }) };
}

/** Those of the address that this list takes, for its request. */
export function pick(search: Search, names: readonly string[]): Search {
  return Object.fromEntries(names.filter((name) => search[name]).map((name) => [name, search[name]]));
}

export function Filters({ children }: { children: ReactNode }) {
  return (
    <form className="filters" role="search" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      {children}
    </form>
  );
}

type Choice = { value: string; label: string };

export function SelectFilter(props: { name: string; label: string; any: string; choices: readonly Choice[] }) {
  const [search, change] = useFilters();
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{props.label}</label>
      <select
        id={id}
        className="input"
        value={search[props.name] ?? ''}
        onChange={({ target }) => change({ [props.name]: target.value })}
      >
        <option value="">{props.any}</option>
        {props.choices.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </div>
  );
}

export function DestinationFilter() {
  const [{ destination_id: value = '' }, change] = useFilters();
  const onChange = (id: string): void => change({ destination_id: id });
  return <DestinationPicker label="Destination" any="Any destination" value={value} onChange={onChange} />;
}

/** Takes effect when typing pauses. */
export function TextFilter(props: { name: string; label: string; placeholder?: string; type?: string }) {
  const [search, change] = useFilters();
  const given = search[props.name] ?? '';
  const [text, setText] = useState(given);
  const id = useId();
  useEffect(() => setText(given), [given]);
  useEffect(() => {
    const wanted = text.trim();
    if (wanted === given) return;
    const timer = setTimeout(() => change({ [props.name]: wanted }), TYPING_MS);
    return () => clearTimeout(timer);
  });
  return (
    <div className="field">
      <label htmlFor={id}>{props.label}</label>
      <input
        id={id}
        className="input"
        type={props.type ?? 'text'}
        value={text}
        placeholder={props.placeholder}
        spellCheck={false}
        autoComplete="off"
        onChange={({ target }) => setText(target.value)}
      />
    </div>
  );
}

const PERIODS: readonly { value: string; label: string; ms: number }[] = [
  { value: '15m', label: 'Last 15 minutes', ms: 900_000 },
  { value: '1h', label: 'Last hour', ms: 3_600_000 },
  { value: '24h', label: 'Last 24 hours', ms: 86_400_000 },
  { value: '7d', label: 'Last 7 days', ms: 7 * 86_400_000 },
  { value: '30d', label: 'Last 30 days', ms: 30 * 86_400_000 },
];

export function PeriodFilter() {
  return <SelectFilter name="period" label="Time" any="Any time" choices={PERIODS} />;
}

/**
 * The filters of a request for these. `period` becomes `since`, cut to the minute: a page that is asked for again is
 * then the same page. A `since` in the address wins: a cursor goes on only with the one that made it.
 */
export function requestOf(search: Search, names: readonly string[]): Search {
  const query = pick(search, [...names, 'since', 'until', 'cursor']);
  const period = PERIODS.find(({ value }) => value === search['period']);
  if (period === undefined || query['since'] !== undefined) return query;
  const minute = Math.floor(serviceTime() / 60_000) * 60_000;
  return { ...query, since: new Date(minute - period.ms).toISOString() };
}
