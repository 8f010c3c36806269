// Pause and resume: the same button wherever a destination is shown.
import { useQueryClient } from '@tanstack/react-query';
import { answerOf, api } from '../api/client.ts';
import { destinationQuery } from '../api/queries.ts';
import { useMay, useMode } from './environment.ts';
import { useNotice, useRefusal } from './notices.tsx';

/** `of`: where a page has several, the destination's name. */
type Props = { id: string; isPaused: boolean; of?: string; className?: string };

export function PauseButton({ id, isPaused, of, className = 'button' }: Props) {
  const mode = useMode();
  const may = useMay();
  const client = useQueryClient();
  const notice = useNotice();
  const refuse = useRefusal();
  if (!may('manage')) return null;
  const turn = async (): Promise<void> => {
    try {
      const status = isPaused ? 'active' : 'paused';
      const request = api(mode).PATCH('/v1/destinations/{id}', { params: { path: { id } }, body: { status } });
      client.setQueryData(destinationQuery(mode, id).queryKey, await answerOf(request));
      notice(isPaused ? 'Resumed: what waited goes out now.' : 'Paused: events wait, and spend no attempts.');
      await client.invalidateQueries({ queryKey: [mode] });
    } catch (error) {
      refuse(error);
    }
  };
  const label = isPaused ? 'Resume' : 'Pause';
  return (
    <button
      type="button"
      className={className}
      aria-label={of === undefined ? undefined : `${label} ${of}`}
      onClick={() => void turn()}
    >
      {label}
    </button>
  );
}
