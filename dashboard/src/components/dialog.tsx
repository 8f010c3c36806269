// Questions and forms above the page. Base UI puts the focus on their first control, keeps it
// inside and gives it back: a control that takes it by itself would be what it is given back to.
import { Dialog as Base } from '@base-ui/react/dialog';
import { useState, type ReactNode } from 'react';
import { useOnce } from './once.ts';
import { Fault } from './show.tsx';

type Props = {
  title: string;
  open: boolean;
  /** Null: Escape does not close it either, as what it shows is shown this once. */
  onClose: (() => void) | null;
  children: ReactNode;
  wide?: boolean;
};

export function Dialog({ title, open, onClose, children, wide = false }: Props) {
  return (
    // A press beside it would lose what was written.
    <Base.Root open={open} onOpenChange={(isOpen) => !isOpen && onClose?.()} disablePointerDismissal>
      <Base.Portal>
        <Base.Backdrop className="backdrop" />
        <Base.Popup className={wide ? 'dialog wide' : 'dialog'}>
          <Base.Title render={<h2 />}>{title}</Base.Title>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

/** A dialog whose first control says what it is for. */
export function BareDialog({ label, onClose, children }: { label: string; onClose: () => void; children: ReactNode }) {
  return (
    <Base.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="backdrop" />
        <Base.Popup className="dialog palette" aria-label={label}>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

type ConfirmProps = {
  /** What the button that opens it says. */
  label: string;
  /** Where a page has several: what this one is about, for who hears the button and does not see its row. */
  of?: string;
  title: string;
  children: ReactNode;
  /** What the button that does it says. */
  confirm: string;
  /** What the one says that does not. */
  dismiss?: string;
  danger?: boolean;
  className?: string;
  act: () => Promise<unknown>;
};

/** A button that asks before it acts, and shows what was refused. */
export function ConfirmButton({ label, of, title, className, danger = false, ...body }: ConfirmProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        aria-label={of === undefined ? undefined : `${label} ${of}`}
        className={className ?? `button${danger ? ' danger' : ''}`}
        onClick={() => setOpen(true)}
      >
        {label}
      </button>
      <Dialog title={title} open={isOpen} onClose={() => setOpen(false)}>
        <ConfirmBody {...body} danger={danger} onDone={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

type BodyProps = Omit<ConfirmProps, 'label' | 'of' | 'title' | 'className'> & { onDone: () => void };

function ConfirmBody({ children, confirm, dismiss = 'Cancel', danger, act, onDone }: BodyProps) {
  const { run, isBusy, error } = useOnce(async () => {
    await act();
    onDone();
  });
  return (
    <>
      <div>{children}</div>
      <Fault error={error} />
      <div className="actions">
        <button type="button" className="button quiet" onClick={onDone}>
          {dismiss}
        </button>
        <button
          type="button"
          className={`button ${danger ? 'danger' : 'primary'}`}
          aria-disabled={isBusy}
          onClick={run}
        >
          {confirm}
        </button>
      </div>
    </>
  );
}
