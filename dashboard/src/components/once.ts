// What is pressed again before there is an answer is not done again: an event would be sent twice, and of two keys the
// secret of one be shown to nobody.
import { useState, type SyntheticEvent } from 'react';

type Once = { run: (event?: SyntheticEvent) => void; isBusy: boolean; error: unknown };

/** `error`: what refused it the last time, null while it runs. */
export function useOnce(act: () => Promise<unknown>): Once {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const run = async (): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    setError(null);
    try {
      await act();
    } catch (refusal) {
      setError(refusal);
    } finally {
      setBusy(false);
    }
  };
  return {
    run: (event) => {
      event?.preventDefault();
      void run();
    },
    isBusy,
    error,
  };
}
