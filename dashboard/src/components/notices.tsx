// Short messages about what was just done; they are read out, and go by themselves.
import { createContext, useCallback, useContext, useState } from 'react';
import type { ReactNode } from 'react';

const SHOWN_MS = 6_000;
const NOTICES_MAX = 3;

const NoticeContext = createContext<(text: string) => void>(() => {});

export function useNotice(): (text: string) => void {
  return useContext(NoticeContext);
}

export function NoticeProvider({ children }: { children: ReactNode }) {
  const [notices, setNotices] = useState<{ id: number; text: string }[]>([]);
  const show = useCallback((text: string) => {
    const id = Math.random();
    setNotices((all) => [...all, { id, text }].slice(-NOTICES_MAX));
    setTimeout(() => setNotices((all) => all.filter((notice) => notice.id !== id)), SHOWN_MS);
  }, []);
  return (
    <NoticeContext value={show}>
      {children}
      <div className="notices" role="status">
        {notices.map(({ id, text }) => (
          <div key={id}>{text}</div>
        ))}
      </div>
    </NoticeContext>
  );
}
