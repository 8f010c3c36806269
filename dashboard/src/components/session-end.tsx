// That the session ends soon, while there is still time: what is written in a form then does not survive it.
import { useSessions } from '../api/session.ts';
import { useMode } from './environment.ts';
import { Time, useTicking } from './show.tsx';

const SOON_MS = 15 * 60_000;

export function SessionEnd() {
  const mode = useMode();
  const end = useSessions().find((session) => session.mode === mode)?.expires_at ?? null;
  const isSoon = useTicking((now) => (end !== null && Date.parse(end) - now < SOON_MS ? 1 : 0)) === 1;
  if (!isSoon) return null;
  return (
    <div className="session-end" role="status">
      <p className="callout wait">
        This session ends <Time at={end} />, and what is not saved or sent by then is lost.{' '}
        <a href={`/sign-in?mode=${mode}`} target="_blank" rel="noreferrer">
          Sign in again in another tab
        </a>{' '}
        to stay here.
      </p>
    </div>
  );
}
