// Small things that every page shows: times, ids, states, text to copy, faults.
import { Link } from '@tanstack/react-router';
import { useQuery } from '@tanstack/react-query';
import { useSyncExternalStore, type ReactNode } from 'react';
import { ApiError, type DeliveryStatus, type Destination, type Schemas } from '../api/client.ts';
import { destinationQuery } from '../api/queries.ts';
import { serviceTime } from '../api/service-time.ts';
import { usePreferences } from '../preferences.ts';
import { shortId } from '../words/ids.ts';
import { STATUS, type Tone } from '../words/outcomes.ts';
import { sentence } from '../words/sentence.ts';
import { absolute, relative } from '../words/time.ts';
import { visible } from '../words/visible.ts';
import { useMay, useMode } from './environment.ts';
import { useNotice } from './notices.tsx';

const ticks = new Set<() => void>();
setInterval(() => {
  for (const tick of ticks) tick();
}, 1_000);

function subscribeTicks(tick: () => void): () => void {
  ticks.add(tick);
  return () => ticks.delete(tick);
}

/** Renders again when the text changes, and only then. */
export function useTicking<T extends string | number>(valueAt: (now: number) => T): T {
  return useSyncExternalStore(subscribeTicks, () => valueAt(Math.floor(serviceTime() / 1_000) * 1_000));
}

export function Time({ at, none = '–' }: { at: string | null; none?: string }) {
  const { isUtc } = usePreferences();
  const ms = at === null ? 0 : Date.parse(at);
  const text = useTicking((now) => (at === null ? none : relative(ms, now)));
  if (at === null) return <span className="muted">{none}</span>;
  return (
    <time className="nowrap" dateTime={at} title={absolute(ms, isUtc)}>
      {text}
    </time>
  );
}

/** Of an attempt to come: what is due waits for its turn, and what is not due at all is held by a pause. */
export function DueTime({ at }: { at: string | null }) {
  const isDue = useTicking((now) => (at !== null && Date.parse(at) <= now ? 1 : 0)) === 1;
  return isDue ? <span className="muted">due</span> : <Time at={at} none="held" />;
}

/** Both: for where there is room and the moment matters. */
export function FullTime({ at, none = '–' }: { at: string | null; none?: string }) {
  const { isUtc } = usePreferences();
  if (at === null) return <span className="muted">{none}</span>;
  return (
    <>
      <Time at={at} /> <span className="muted small">{absolute(Date.parse(at), isUtc)}</span>
    </>
  );
}

export function Badge({ tone, children }: { tone: Tone; children: ReactNode }) {
  return <span className={`badge ${tone}`}>{children}</span>;
}

export function StatusBadge({ status }: { status: DeliveryStatus }) {
  const { word, tone } = STATUS[status];
  return <Badge tone={tone}>{word}</Badge>;
}

const STATE = {
  healthy: <Badge tone="good">Healthy</Badge>,
  failing: <Badge tone="bad">Failing</Badge>,
  idle: <Badge tone="idle">Idle</Badge>,
};

/** How it is doing, where that is known; why it is paused, where it is. */
type BadgeProps = { destination: Pick<Destination, 'status' | 'paused_reason'>; state: State | undefined };

export function DestinationBadge({ destination, state }: BadgeProps) {
  if (destination.status === 'active') {
    return state === undefined || state === 'paused' ? <Badge tone="idle">Active</Badge> : STATE[state];
  }
  const why = { manual: 'Paused', failing: 'Paused: failing', gone: 'Paused: gone (410)' };
  const reason = destination.paused_reason ?? 'manual';
  return <Badge tone={reason === 'manual' ? 'idle' : 'bad'}>{why[reason]}</Badge>;
}

type State = Schemas['DestinationState'];

export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}

export function nameOf({ name, url }: Pick<Destination, 'name' | 'url'>): string {
  return visible(name?.trim() || hostOf(url));
}

/** For what is said of it: `DestinationLink` shows the same. Of no id, no name. */
export function useDestinationName(id = ''): string {
  const may = useMay();
  const { data } = useQuery({ ...destinationQuery(useMode(), id), enabled: id !== '' && may('read') });
  return data === undefined ? shortId(id) : nameOf(data);
}

/** A destination by its name; the id only as long as, or where, there is no name to be had. */
export function DestinationLink({ id, className = 'cut' }: { id: string; className?: string }) {
  const mode = useMode();
  const may = useMay();
  const { data } = useQuery({ ...destinationQuery(mode, id), enabled: may('read') });
  return (
    <Link
      className={className}
      to="/$mode/destinations/$id"
      params={{ mode, id }}
      title={data === undefined ? id : `${nameOf(data)}\n${data.url}`}
    >
      {data === undefined ? shortId(id) : nameOf(data)}
    </Link>
  );
}

export function CopyButton({ text, label = 'Copy', of, className = 'button slim' }: CopyProps) {
  const notice = useNotice();
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      notice('Copied.');
    } catch {
      notice('The browser does not let this page copy. Select the text instead.');
    }
  };
  return (
    <button
      type="button"
      className={className}
      aria-label={of === undefined ? undefined : `${label} ${of}`}
      onClick={() => void copy()}
    >
      {label}
    </button>
  );
}
/** `of`: what it copies, for who hears the button and does not see what is beside it. */
type CopyProps = { text: string; label?: string; of?: string; className?: string };

export function Id({ id }: { id: string }) {
  return (
    <span className="row">
      <code>{id}</code>
      <CopyButton text={id} of={id} />
    </span>
  );
}

/** `children`: a way on, where trying again is none. */
export function Fault({ error, retry, children }: { error: unknown; retry?: () => void; children?: ReactNode }) {
  if (error === null || error === undefined) return null;
  const requestId = error instanceof ApiError ? error.requestId : null;
  // What is wrong with the request itself would be refused again.
  const isFinal = error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429;
  return (
    <div className="callout bad" role="alert">
      <p>{sentence(error instanceof Error ? error.message : 'something went wrong')}</p>
      {requestId !== null && (
        <p className="small muted">
          Request <code>{requestId}</code>
        </p>
      )}
      {retry !== undefined && !isFinal && (
        <button type="button" className="link" onClick={retry}>
          Try again
        </button>
      )}
      {children}
    </div>
  );
}

export function Empty({ title, children, action }: { title: string; children: ReactNode; action?: ReactNode }) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      <p>{children}</p>
      {action}
    </div>
  );
}
