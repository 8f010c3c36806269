// What this browser was told to keep: the theme and the time zone. Nothing else is kept here, and no secrets.
import { useSyncExternalStore } from 'react';

export type Theme = 'system' | 'light' | 'dark';

type Preferences = { theme: Theme; isUtc: boolean };

const KEY = 'postrider-preferences';
const listeners = new Set<() => void>();
const darkness = matchMedia('(prefers-color-scheme: dark)');
let current = read();

function read(): Preferences {
  const fallback: Preferences = { theme: 'system', isUtc: false };
  try {
    return { ...fallback, ...(JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Preferences>) };
  } catch {
    return fallback; // storage may be forbidden, or hold something else
  }
}

export function setPreference(change: Partial<Preferences>): void {
  current = { ...current, ...change };
  try {
    localStorage.setItem(KEY, JSON.stringify(current));
  } catch {
    // Then it holds until the page is left.
  }
  showTheme();
  for (const listener of listeners) listener();
}

export function usePreferences(): Preferences {
  return useSyncExternalStore(subscribe, () => current);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function startTheme(): void {
  showTheme();
  darkness.addEventListener('change', () => {
    showTheme();
    current = { ...current }; // for what draws with the theme's colours, though what was told is the same
    for (const listener of listeners) listener();
  });
  // Paper is white, whatever the theme.
  addEventListener('beforeprint', () => (document.documentElement.dataset['theme'] = 'light'));
  addEventListener('afterprint', showTheme);
}

function showTheme(): void {
  const system = darkness.matches ? 'dark' : 'light';
  document.documentElement.dataset['theme'] = current.theme === 'system' ? system : current.theme;
}
