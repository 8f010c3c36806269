// Search and commands: any id or its beginning, a destination's name or host, an event type, a page.
import { Autocomplete } from '@base-ui/react/autocomplete';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useDeferredValue, useEffect, useState } from 'react';
import { BareDialog } from './dialog.tsx';
import { useMay, useMode } from './environment.ts';
import { findTargets, type Found, type Target } from './find-targets.ts';
import { PAGES } from './pages.ts';
import { count } from '../words/numbers.ts';
import { setPreference, usePreferences } from '../preferences.ts';

const NOTHING: Found = { targets: [], searched: null };

export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('');
  const wanted = useDeferredValue(text.trim());
  const mode = useMode();
  const client = useQueryClient();
  const commands = useCommands();
  const found = useQuery({
    queryKey: [mode, 'search', wanted],
    queryFn: ({ signal }) => findTargets(client, mode, wanted, signal),
    enabled: wanted.length > 1,
    staleTime: 5_000,
  });
  const matching = commands.filter(({ label }) => label.toLowerCase().includes(wanted.toLowerCase()));
  const { targets, searched } = wanted.length > 1 && found.data !== undefined ? found.data : NOTHING;
  const items: Target[] = [...targets, ...matching];
  const go = useGo(onClose);
  const isSearching = wanted !== text.trim() || (found.isFetching && items.length === 0);
  // Enter while there is nothing yet that it could choose: it chooses the first hit for this text when that comes.
  const [isChoosing, setChoosing] = useState(false);
  useEffect(() => {
    if (!isChoosing || isSearching) return;
    setChoosing(false);
    if (items[0] !== undefined) go(items[0]);
  });
  return (
    <BareDialog label="Search" onClose={onClose}>
      <Autocomplete.Root
        items={items}
        mode="none"
        open
        inline
        autoHighlight="always"
        itemToStringValue={(item: Target) => item.label}
        value={text}
        onValueChange={(value, { reason }) => {
          if (reason === 'item-press') return;
          setText(value);
          setChoosing(false);
        }}
      >
        <Autocomplete.Input
          aria-label="Search"
          placeholder="An id or its beginning, a destination, a page"
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.nativeEvent.isComposing || !isSearching) return;
            event.preventBaseUIHandler();
            setChoosing(true);
          }}
        />
        <Autocomplete.List>
          {(item: Target) => (
            <Autocomplete.Item key={item.key} value={item} onClick={() => go(item)}>
              <span className="cut">{item.label}</span>
              <span className="muted small nowrap">{item.note}</span>
            </Autocomplete.Item>
          )}
        </Autocomplete.List>
        <div className="hint" role="status">
          {items.length === 0 && (found.isFetching ? 'Searching…' : 'Nothing found.')}
          {searched !== null && `Of destinations, the newest ${count(searched)} were searched.`}
        </div>
      </Autocomplete.Root>
    </BareDialog>
  );
}

function useCommands(): Target[] {
  const mode = useMode();
  const may = useMay();
  const { isUtc } = usePreferences();
  const other = mode === 'live' ? 'test' : 'live';
  return [
    ...PAGES.filter(({ scope }) => may(scope)).map(({ to, label }) => ({
      key: to,
      label,
      note: 'page',
      open: { to, params: { mode } },
    })),
    { key: 'mode', label: `Go to ${other}`, note: 'environment', open: { to: '/$mode', params: { mode: other } } },
    {
      key: 'utc',
      label: isUtc ? 'Show local times' : 'Show times in UTC',
      note: 'setting',
      act: () => setPreference({ isUtc: !isUtc }),
    },
    { key: 'light', label: 'Light theme', note: 'setting', act: () => setPreference({ theme: 'light' }) },
    { key: 'dark', label: 'Dark theme', note: 'setting', act: () => setPreference({ theme: 'dark' }) },
  ];
}

function useGo(onClose: () => void): (target: Target) => void {
  const navigate = useNavigate();
  return (target) => {
    onClose();
    target.act?.();
    if (target.open !== undefined) void navigate(target.open as Parameters<typeof navigate>[0]);
  };
}
