// That the session ends soon, while there is still time to go on without a break.
import { useContext } from 'react';
import { SessionContext, useMode } from './environment.ts';
import { Time, useTicking } from './show.tsx';

const SOON_MS = 15 * 60_000;

export function SessionEnd() {
  const mode = useMode();
  const end = useContext(SessionContext)?.expires_at ?? null;
  const isSoon = useTicking((now) => (end !== null && Date.parse(end) - now < SOON_MS ? 1 : 0)) === 1;
  if (!isSoon) return null;
  return (
    <div className="session-end" role="status">
      <p className="callout wait">
        This session ends <Time at={end} />. What is written here by then stays until you sign in again.{' '}
        <a href={`/sign-in?mode=${mode}`} target="_blank" rel="noreferrer">
          Sign in again in another tab
        </a>{' '}
        not to be interrupted.
      </p>
    </div>
  );
}
