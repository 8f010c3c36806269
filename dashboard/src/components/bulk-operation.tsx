// What touches many deliveries says how many before it does, and shows how far it is after.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { answerOf, api, ApiError } from '../api/client.ts';
import type { DryRun, Operation } from '../api/client.ts';
import { plural } from '../words/numbers.ts';
import { Dialog } from './dialog.tsx';
import { useMode } from './environment.ts';
import { Fault, Time } from './show.tsx';
import { OperationProgress } from './operation-progress.tsx';

type Props = {
  label: string;
  title: string;
  verb: string;
  className?: string;
  start: (dryRun: boolean) => Promise<Operation | DryRun>;
};

export function BulkOperationButton({ label, title, verb, className = 'button', start }: Props) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className={className} onClick={() => setOpen(true)}>
        {label}
      </button>
      <Dialog title={title} open={isOpen} onClose={() => setOpen(false)}>
        <Steps verb={verb} start={start} onClose={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function Steps({ verb, start, onClose }: Pick<Props, 'verb' | 'start'> & { onClose: () => void }) {
  const mode = useMode();
  const client = useQueryClient();
  const [counted, setCounted] = useState<DryRun | null>(null);
  const [startedId, setStartedId] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    start(true).then((answer) => setCounted(answer as DryRun), setError);
    // Counted once, when it is opened.
  }, []);
  const run = async (): Promise<void> => {
    setError(null);
    try {
      setStartedId(((await start(false)) as Operation).id);
      await client.invalidateQueries({ queryKey: [mode, '/v1/operations'] });
    } catch (refusal) {
      setError(refusal);
    }
  };
  if (startedId !== null) return <Started id={startedId} onClose={onClose} />;
  return (
    <>
      <Fault error={error} />
      {error instanceof ApiError && error.code === 'operation_in_progress' && (
        <Link to="/$mode/operations" params={{ mode }}>
          To the operations
        </Link>
      )}
      {counted === null && error === null && <p role="status">Counting…</p>}
      {counted !== null && (
        <p role="status">
          {plural(counted.count, 'delivery', 'deliveries')}
          {counted.oldest !== null && (
            <>
              , from <Time at={counted.oldest} /> to <Time at={counted.newest} />
            </>
          )}
          .
        </p>
      )}
      <div className="actions">
        <button type="button" className="button quiet" onClick={onClose}>
          Cancel
        </button>
        <button
          type="button"
          className="button primary"
          disabled={counted === null || counted.count === 0}
          onClick={() => void run()}
        >
          {verb}
        </button>
      </div>
    </>
  );
}

function Started({ id, onClose }: { id: string; onClose: () => void }) {
  const mode = useMode();
  const { data } = useQuery({
    queryKey: [mode, 'operation', id],
    queryFn: ({ signal }) => answerOf(api(mode).GET('/v1/operations/{id}', { params: { path: { id } }, signal })),
    refetchInterval: ({ state }) => (state.data?.finished_at == null ? 1_000 : false),
  });
  return (
    <>
      {data === undefined ? <p>Started.</p> : <OperationProgress operation={data} />}
      <p className="muted">It goes on when this is closed, and through a restart.</p>
      <div className="actions">
        <Link className="button" to="/$mode/operations" params={{ mode }}>
          To the operations
        </Link>
        <button type="button" className="button primary" onClick={onClose}>
          Close
        </button>
      </div>
    </>
  );
}

const RECOVERED_MS = 3 * 86_400_000;

/** Everything of a destination that is dead or waits for a retry, of the last three days. */
export function RecoverButton({ id }: { id: string }) {
  const mode = useMode();
  const start = (dryRun: boolean): Promise<Operation | DryRun> =>
    answerOf(
      api(mode).POST('/v1/destinations/{id}/recover', {
        params: { path: { id } },
        body: { since: new Date(Date.now() - RECOVERED_MS).toISOString(), dry_run: dryRun },
      }),
    );
  return (
    <BulkOperationButton label="Recover" title="Send what failed in the last 3 days" verb="Send them" start={start} />
  );
}
