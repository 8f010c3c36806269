// What touches many deliveries says how many before it does, and shows how far it is after.
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useState, type ReactNode } from 'react';
import { ApiError, type DryRun, type Mode, type Operation } from '../api/client.ts';
import { operationQuery } from '../api/queries.ts';
import { plural } from '../words/numbers.ts';
import { Dialog } from './dialog.tsx';
import { useMode } from './environment.ts';
import { Field } from './field.tsx';
import { useOnce } from './once.ts';
import { useSettled } from './settled.ts';
import { Fault, Time } from './show.tsx';
import { OperationProgress } from './operation-progress.tsx';

const PER_SECOND = 100;

type Pace = { dry_run: boolean; per_second: number };

type Props<Request> = {
  title: string;
  verb: string;
  /** What is asked for when the dialog opens, and the fields that change it. */
  initial: () => Request;
  fields?: (request: Request, change: (request: Request) => void) => ReactNode;
  start: (request: Request, pace: Pace) => Promise<Operation | DryRun>;
};

export function BulkOperationButton<Request>({ label, ...props }: Props<Request> & { label: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="button" onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen && <BulkOperation {...props} onClose={() => setOpen(false)} />}
    </>
  );
}

type OpenProps<Request> = Props<Request> & { onClose: () => void };

/** The dialog alone, for a button that may go while it is open, with its row. */
export function BulkOperation<Request>(props: OpenProps<Request>) {
  return (
    <Dialog title={props.title} open onClose={props.onClose}>
      <Steps {...props} />
    </Dialog>
  );
}

function Steps<Request>({ title, verb, initial, fields, start, onClose }: OpenProps<Request>) {
  const mode = useMode();
  const [request, setRequest] = useState(initial);
  const [perSecond, setPerSecond] = useState(String(PER_SECOND));
  const [startedId, setStartedId] = useState<string | null>(null);
  const settled = useSettled(request);
  const dryRun = useQuery({
    queryKey: [mode, 'dry-run', title, settled],
    queryFn: async () => (await start(settled, { dry_run: true, per_second: PER_SECOND })) as DryRun,
    gcTime: 0,
    placeholderData: keepPreviousData,
  });
  const isCounted = dryRun.isSuccess && !dryRun.isPlaceholderData && settled === request;
  const {
    run,
    isBusy,
    error: refusal,
  } = useOnce(async () => {
    const started = await start(request, { dry_run: false, per_second: Number(perSecond) });
    setStartedId((started as Operation).id);
  });
  if (startedId !== null) return <Started id={startedId} onClose={onClose} />;
  return (
    <form className="stack" onSubmit={run}>
      {fields?.(request, setRequest)}
      <Field
        label="Deliveries a second, to each destination"
        type="number"
        min={1}
        max={10_000}
        required
        value={perSecond}
        onChange={({ target }) => setPerSecond(target.value)}
      />
      <Fault error={refusal ?? dryRun.error} />
      {refusal instanceof ApiError && refusal.code === 'operation_in_progress' && (
        <Link to="/$mode/operations" params={{ mode }}>
          To the operations
        </Link>
      )}
      {dryRun.error === null && <Counted counted={isCounted ? dryRun.data : undefined} />}
      <div className="actions">
        <button type="button" className="button quiet" onClick={onClose}>
          Cancel
        </button>
        <button
          type="submit"
          className="button primary"
          disabled={!isCounted || dryRun.data.count === 0}
          aria-disabled={isBusy}
        >
          {verb}
        </button>
      </div>
    </form>
  );
}

function Counted({ counted }: { counted: DryRun | undefined }) {
  if (counted === undefined) return <p role="status">Counting…</p>;
  return (
    <p role="status">
      <span className="strong">{plural(counted.count, 'delivery', 'deliveries')}</span>
      {counted.oldest !== null && (
        <>
          , from <Time at={counted.oldest} /> to <Time at={counted.newest} />
        </>
      )}
      .
    </p>
  );
}

function Started({ id, onClose }: { id: string; onClose: () => void }) {
  const mode = useMode();
  const { data } = useQuery({
    ...operationQuery(mode, id),
    refetchInterval: ({ state }) => (state.data?.finished_at == null ? 1_000 : false),
  });
  useListsReadAgain(mode);
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

/** At the end: a list that is read again before may lose the row that the dialog belongs to, and the dialog with it. */
function useListsReadAgain(mode: Mode): void {
  const client = useQueryClient();
  useEffect(() => {
    const predicate = ({ queryKey: [of, path] }: { queryKey: readonly unknown[] }): boolean =>
      of === mode && typeof path === 'string' && path.startsWith('/v1/');
    return () => void client.invalidateQueries({ predicate });
  }, [client, mode]);
}
