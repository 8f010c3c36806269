import { useEffect, type RefObject } from 'react';

/**
 * Where a control goes by what it did, as a row does that it removed, its focus goes to the page and not to nowhere; that
 * of a form in a dialog, which shows something else then, to the dialog.
 */
export function useKeptFocus(main: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    let last: EventTarget | null = null;
    const onFocus = ({ target }: FocusEvent): void => void (last = target);
    const watch = new MutationObserver(() => {
      if (!(last instanceof Element) || last.isConnected) return;
      last = null;
      // A dialog that closes gives the focus back by itself, a little later.
      requestAnimationFrame(() => {
        if (document.activeElement !== document.body) return;
        const dialogs = document.querySelectorAll<HTMLElement>('[role=dialog][data-open]');
        ([...dialogs].at(-1) ?? main.current)?.focus({ preventScroll: true });
      });
    });
    addEventListener('focusin', onFocus);
    watch.observe(document.body, { childList: true, subtree: true });
    return () => {
      watch.disconnect();
      removeEventListener('focusin', onFocus);
    };
  }, [main]);
}
