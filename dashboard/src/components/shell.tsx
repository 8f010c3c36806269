// The frame of every page: where one is, which environment this is, and the way to everything else.
import { useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { Activity, lazy, Suspense, useContext, useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { Mode } from '../api/client.ts';
import { sessionsQuery, signOut, useSessions, type Session } from '../api/session.ts';
import { SignIn } from '../pages/sign-in.tsx';
import { setPreference, usePreferences, type Theme } from '../preferences.ts';
import { Away } from './away.tsx';
import { SessionContext, useMay, useMode } from './environment.ts';
import { useKeptFocus } from './kept-focus.ts';
import { Logo } from './logo.tsx';
import { useRefusal } from './notices.tsx';
import { Page } from './page.tsx';
import { PAGES } from './pages.ts';
import { SessionEnd } from './session-end.tsx';
import { Empty } from './show.tsx';
import { visible } from '../words/visible.ts';

const Palette = lazy(async () => ({ default: (await import('./palette.tsx')).Palette }));

const ENDED =
  'The session has ended. What is written on the page, and not sent, is still there when you have signed in.';

/** While nobody is signed in the page is out of sight, but stays: what is written in its forms is there afterwards. */
export function Shell() {
  const mode = useMode();
  const navigate = useNavigate();
  const session = useSessions().find((candidate) => candidate.mode === mode);
  const last = useRef<Session>(null);
  if (session !== undefined) last.current = session;
  const shown = last.current?.mode === mode ? last.current : null;
  const onDone = async (signedIn: Mode): Promise<void> => {
    if (signedIn !== mode) await navigate({ to: '/$mode', params: { mode: signedIn } });
  };
  return (
    <>
      {session === undefined && <SignIn mode={mode} note={shown !== null && ENDED} onDone={onDone} />}
      {shown !== null && (
        <Activity mode={session === undefined ? 'hidden' : 'visible'}>
          <SessionContext value={shown}>
            <Frame />
          </SessionContext>
        </Activity>
      )}
    </>
  );
}

function Frame() {
  const mode = useMode();
  const [isSearching, setSearching] = useState(false);
  const main = useRef<HTMLElement>(null);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  useKeptFocus(main);
  useFocusAsBefore();
  useSearchKeys(() => setSearching(true));
  useEffect(() => {
    document.documentElement.dataset['mode'] = mode;
  }, [mode]);
  // Who does not see the page change hears it: the focus goes to the new page's beginning.
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current !== path) main.current?.focus({ preventScroll: true });
    shown.current = path;
  }, [path]);
  return (
    <div className="shell" data-mode={mode}>
      <a className="skip" href="#main">
        To the content
      </a>
      <Side onSearch={() => setSearching(true)} />
      <main id="main" ref={main} tabIndex={-1}>
        <Away />
        <SessionEnd />
        <Content key={mode} />
      </main>
      <Settings />
      {isSearching && (
        <Suspense>
          <Palette onClose={() => setSearching(false)} />
        </Suspense>
      )}
    </div>
  );
}

/** What the address leads to; where the key may not go there, what it lacks. One of a list needs what the list does. */
function Content() {
  const may = useMay();
  const path = useRouterState({ select: ({ matches }) => matches.at(-1)?.fullPath });
  const page = PAGES.find(({ to }) => to === path?.replace(/\/\$id$/, ''));
  if (page === undefined || may(page.scope)) return <Outlet />;
  return (
    <Page title={page.label}>
      <Empty title={`This key lacks the scope ${page.scope}`}>
        This page needs it: sign in with a key that has it.
      </Empty>
    </Page>
  );
}

/** Where the focus was when the page went out of sight, it is again. */
function useFocusAsBefore(): void {
  const focused = useRef<Element>(null);
  useLayoutEffect(() => {
    if (focused.current instanceof HTMLElement) focused.current.focus();
    return () => void (focused.current = document.activeElement);
  }, []);
}

function useSearchKeys(open: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isTyping = event.target instanceof Element && event.target.closest('input, textarea, select') !== null;
      const isCommand = event.key.toLowerCase() === 'k' && (event.metaKey || event.ctrlKey);
      if (!isCommand && (event.key !== '/' || isTyping)) return;
      event.preventDefault();
      open();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  });
}

function Side({ onSearch }: { onSearch: () => void }) {
  const mode = useMode();
  return (
    <header className="side">
      <Link className="brand" to="/$mode" params={{ mode }}>
        <Logo size={22} />
        Postrider
      </Link>
      <ModeSwitch />
      <button type="button" className="search-open" onClick={onSearch}>
        Search <kbd>/</kbd>
      </button>
      <Navigation />
    </header>
  );
}

function ModeSwitch() {
  const mode = useMode();
  const choices: Mode[] = ['test', 'live'];
  return (
    <nav className="modes" aria-label="Environment">
      {choices.map((choice) => (
        <Link key={choice} to="/$mode" params={{ mode: choice }} aria-current={choice === mode ? 'true' : undefined}>
          {choice === 'test' ? 'Test' : 'Live'}
        </Link>
      ))}
    </nav>
  );
}

function Navigation() {
  const mode = useMode();
  const may = useMay();
  const shown = PAGES.filter(({ to, scope }) => may(scope) || to === '/$mode');
  const list = useRef<HTMLElement>(null);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  // Where the pages are a row that scrolls, the current one is in view.
  useEffect(() => {
    const current = list.current?.querySelector('[aria-current]');
    current?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [path, shown.length]);
  return (
    <nav ref={list} className="pages" aria-label="Pages">
      <ul>
        {shown.map(({ to, label }) => (
          <li key={to} className={to === '/$mode/send' || to === '/$mode/keys' ? 'apart' : undefined}>
            <Link to={to} params={{ mode }} activeOptions={{ exact: to === '/$mode', includeSearch: false }}>
              {label}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

const NEXT_THEME: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' };
const THEME_WORD: Record<Theme, string> = { system: 'as the system', light: 'light', dark: 'dark' };

function Settings() {
  const mode = useMode();
  const { theme, isUtc } = usePreferences();
  const session = useContext(SessionContext);
  const client = useQueryClient();
  const navigate = useNavigate();
  const refuse = useRefusal();
  const leave = async (): Promise<void> => {
    try {
      await signOut(mode);
    } catch (error) {
      refuse(error);
      return;
    }
    client.removeQueries({ queryKey: [mode] });
    await client.invalidateQueries({ queryKey: sessionsQuery.queryKey });
    await navigate({ to: '/' });
  };
  return (
    <footer className="settings">
      <button type="button" className="button quiet slim" onClick={() => setPreference({ isUtc: !isUtc })}>
        Times: {isUtc ? 'UTC' : 'local'}
      </button>
      <button type="button" className="button quiet slim" onClick={() => setPreference({ theme: NEXT_THEME[theme] })}>
        Theme: {THEME_WORD[theme]}
      </button>
      <button type="button" className="button quiet slim" onClick={() => void leave()} title={session?.key.id}>
        <span className="cut">Sign out{session?.key.name ? ` (${visible(session.key.name)})` : ''}</span>
      </button>
    </footer>
  );
}
