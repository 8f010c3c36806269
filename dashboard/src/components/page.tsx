// The head of a page, and what is shown until its data are there.
import { useEffect, type ReactNode } from 'react';
import { useMode } from './environment.ts';

type Props = { title: string; heading?: ReactNode; crumb?: ReactNode; actions?: ReactNode; children: ReactNode };

export function Page({ title, heading, crumb, actions, children }: Props) {
  const mode = useMode();
  useEffect(() => {
    document.title = `${title} · ${mode} · Postrider`;
  }, [title, mode]);
  return (
    <>
      <header className="page-head">
        <div>
          {crumb !== undefined && <p className="crumb small">{crumb}</p>}
          <h1>{heading ?? title}</h1>
        </div>
        {actions !== undefined && <div className="actions">{actions}</div>}
      </header>
      {children}
      <Loading />
    </>
  );
}

/** Shows itself where after a moment nothing else has, by the style: whatever comes before it takes its place. */
export function Loading() {
  return <p className="loading muted">Loading…</p>;
}

export function Card({ title, actions, children, flush = false }: CardProps) {
  return (
    <section className="card">
      {title !== undefined && (
        <header>
          <h2>{title}</h2>
          {actions !== undefined && <div className="actions">{actions}</div>}
        </header>
      )}
      {flush ? children : <div className="inside">{children}</div>}
    </section>
  );
}
type CardProps = { title?: ReactNode; actions?: ReactNode; children: ReactNode; flush?: boolean };
