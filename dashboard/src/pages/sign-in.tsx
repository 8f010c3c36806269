// Signing in with an API key. The key goes to the service and nowhere else; what comes back is a cookie.
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { ApiError, type Mode } from '../api/client.ts';
import { sessionsQuery, signIn, useSessions } from '../api/session.ts';
import { Logo } from '../components/logo.tsx';
import { Field } from '../components/field.tsx';
import { useOnce } from '../components/once.ts';
import type { Search } from '../router.tsx';
import { visible } from '../words/visible.ts';

export function SignInPage() {
  const { mode, reason }: Search = useSearch({ strict: false });
  const navigate = useNavigate();
  return (
    <SignIn
      mode={mode === 'live' || mode === 'test' ? mode : undefined}
      note={reason === 'link' && LATE_LINK}
      onDone={(signedIn) => navigate({ to: '/$mode', params: { mode: signedIn } })}
    />
  );
}

const LATE_LINK =
  'That link has been used or is too old: each works once, within ten minutes of the start. An API key always works.';

const NOT_KEPT =
  'The key is valid, but this browser refuses the cookie that keeps the session. Allow cookies here and try again.';

type Props = {
  mode: Mode | undefined;
  /** Why one has to sign in, where that is not plain. */
  note: string | false;
  onDone: (mode: Mode) => Promise<void>;
};

/** `mode`: the environment that is wanted; the key decides which one it is. */
export function SignIn({ mode, note, onDone }: Props) {
  const sessions = useSessions();
  useEffect(() => {
    document.title = 'Sign in · Postrider';
    if (mode === undefined) delete document.documentElement.dataset['mode'];
    else document.documentElement.dataset['mode'] = mode;
  }, [mode]);
  return (
    <main className="sign-in">
      <div className="row">
        <Logo size={28} />
        <h1>Sign in to {mode ?? 'Postrider'}</h1>
      </div>
      {note !== false && <p className="callout wait">{note}</p>}
      <KeyForm asked={mode ?? 'test'} onDone={onDone} />
      {sessions.map((session) => (
        <p key={session.mode}>
          <a href={`/${session.mode}`}>Go on in {session.mode}</a>
          <span className="muted"> as {visible(session.key.name ?? session.key.id)}</span>
        </p>
      ))}
    </main>
  );
}

function KeyForm({ asked, onDone }: { asked: Mode; onDone: Props['onDone'] }) {
  const [key, setKey] = useState('');
  const client = useQueryClient();
  const { run, isBusy, error } = useOnce(async () => {
    const { mode } = await signIn(key.trim());
    // Who was signed in before may still be on its way, and would be taken for the answer to who is now.
    await client.cancelQueries({ queryKey: sessionsQuery.queryKey });
    const sessions = await client.fetchQuery({ ...sessionsQuery, staleTime: 0 });
    if (!sessions.some((session) => session.mode === mode)) throw new Error(NOT_KEPT);
    await onDone(mode);
  });
  return (
    <form onSubmit={run}>
      <Field
        label="API key"
        type="password"
        autoComplete="off"
        autoFocus
        required
        placeholder="pr_test_… or pr_live_…"
        value={key}
        fault={error === null ? null : faultOf(error)}
        hint={
          <>
            The key says which environment you see. <code>bin/postrider keys create --mode {asked}</code> makes one.
          </>
        }
        onChange={({ target }) => setKey(target.value)}
      />
      <button type="submit" className="button primary" disabled={key.trim() === ''} aria-disabled={isBusy}>
        Sign in
      </button>
    </form>
  );
}

function faultOf(error: unknown): string {
  if (error instanceof ApiError && error.status === 401) return 'This key is not valid, has ended or was revoked.';
  return error instanceof Error ? error.message : 'Something went wrong.';
}
