// Which environment the page is about, and what its key may do there.
import { useParams } from '@tanstack/react-router';
import type { Mode, Scope } from '../api/client.ts';
import { useSessions } from '../api/session.ts';

export function useMode(): Mode {
  return useParams({ from: '/$mode' }).mode;
}

/** What a key's scopes forbid is not shown. */
export function useMay(): (scope: Scope) => boolean {
  const mode = useMode();
  const session = useSessions().find((candidate) => candidate.mode === mode);
  return (scope) => session?.key.scopes.includes(scope) ?? false;
}
