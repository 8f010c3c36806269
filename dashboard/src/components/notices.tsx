// Short messages about what was just done, or was refused; they are read out, and go by themselves.
import { createContext, useCallback, useContext, useState, type ReactNode } from 'react';
import { createPortal } from 'react-dom';
import { sentence } from '../words/sentence.ts';

const SHOWN_MS = 6_000;
/** What was refused has to be read by who looked for something else to happen. */
const REFUSAL_SHOWN_MS = 15_000;
const NOTICES_MAX = 3;

type Notice = { id: number; text: string; isRefusal: boolean };

const NoticeContext = createContext<(text: string, isRefusal: boolean) => void>(() => {});

export function useNotice(): (text: string) => void {
  const show = useContext(NoticeContext);
  return useCallback((text) => show(text, false), [show]);
}

/** `what`: of several, which. */
export function useRefusal(): (error: unknown, what?: string) => void {
  const show = useContext(NoticeContext);
  return useCallback(
    (error, what = '') => {
      const why = sentence(error instanceof Error ? error.message : 'that was refused');
      show(what === '' ? why : `${what} ${why}`, true);
    },
    [show],
  );
}

export function NoticeProvider({ children }: { children: ReactNode }) {
  const [notices, setNotices] = useState<Notice[]>([]);
  const show = useCallback((text: string, isRefusal: boolean) => {
    const id = Math.random();
    setNotices((all) => [...all, { id, text, isRefusal }].slice(-NOTICES_MAX));
    const remove = (): void => setNotices((all) => all.filter((notice) => notice.id !== id));
    setTimeout(remove, isRefusal ? REFUSAL_SHOWN_MS : SHOWN_MS);
  }, []);
  return (
    <NoticeContext value={show}>
      {children}
      {createPortal(
        // Beside the page, which a dialog covers. Without aria-live, said or not, a dialog hides it from screen readers.
        <div className="notices" role="status" aria-live="polite">
          {notices.map(({ id, text, isRefusal }) => (
            <div key={id} className={isRefusal ? 'refusal' : undefined}>
              {text}
            </div>
          ))}
        </div>,
        document.body,
      )}
    </NoticeContext>
  );
}
