// Which environment the page is about, and what its key may do there.
import { useParams } from '@tanstack/react-router';
import { createContext, useContext } from 'react';
import type { Mode, Scope } from '../api/client.ts';
import type { Session } from '../api/session.ts';

export function useMode(): Mode {
  return useParams({ from: '/$mode' }).mode;
}

/** The session of the environment; after its end, until there is another, the one that was. */
export const SessionContext = createContext<Session | null>(null);

/** What a key's scopes forbid is not shown. */
export function useMay(): (scope: Scope) => boolean {
  const session = useContext(SessionContext);
  return (scope) => session?.key.scopes.includes(scope) ?? false;
}
