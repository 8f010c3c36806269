// Who is signed in. The session itself is a cookie that scripts cannot read; this asks the service about it.
import { useQuery } from '@tanstack/react-query';
import { errorOf, fetchOrFail, type Mode, type Scope } from './client.ts';

export type Session = { mode: Mode; key: { id: string; name: string | null; scopes: Scope[] }; expires_at: string };

async function request<T>(method: string, path: string, body?: object): Promise<T> {
  const init: RequestInit = { method };
  if (body !== undefined) {
    init.headers = { 'content-type': 'application/json' };
    init.body = JSON.stringify(body);
  }
  const response = await fetchOrFail(new Request(path, init));
  if (response.status === 204) return undefined as T;
  const answer: unknown = await response.json().catch(() => undefined);
  if (!response.ok) throw errorOf(response.status, answer);
  return answer as T;
}

export const sessionsQuery = {
  queryKey: ['sessions'],
  queryFn: async () => (await request<{ sessions: Session[] }>('GET', '/session')).sessions,
  staleTime: 60_000,
  // Nothing is shown before it is answered, not even that it is not.
  retry: 3,
};

export function signIn(key: string): Promise<Session> {
  return request('POST', '/session', { key });
}

export function signOut(mode: Mode): Promise<void> {
  return request('DELETE', `/session/${mode}`);
}

/** Asked for again whenever the window is looked at again: who is signed in may have changed in another. */
export function useSessions(): Session[] {
  return useQuery({ ...sessionsQuery, refetchOnWindowFocus: 'always' }).data ?? [];
}
