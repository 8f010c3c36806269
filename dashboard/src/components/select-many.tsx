// Rows chosen on a page, and what is done to all of them: one request each, a few at a time.
import { useState } from 'react';
import { useNotice, useRefusal } from './notices.tsx';
import { plural } from '../words/numbers.ts';

const AT_ONCE = 4;

/** Only what is among the rows counts: nothing is done to what the filter or the page no longer shows. */
export function useSelection(rows: readonly { id: string }[] = []) {
  const [all, setChosen] = useState<ReadonlySet<string>>(new Set());
  const choose = (ids: readonly string[], isChosen: boolean): void =>
    setChosen((before) => {
      const after = new Set(before);
      for (const id of ids) {
        if (isChosen) after.add(id);
        else after.delete(id);
      }
      return after;
    });
  const chosen = new Set(rows.map(({ id }) => id).filter((id) => all.has(id)));
  return { chosen, choose, clear: () => setChosen(new Set()) };
}

type Props = {
  chosen: ReadonlySet<string>;
  clear: () => void;
  verb: string;
  act: (id: string) => Promise<unknown>;
  onDone: () => void;
};

export function BulkBar({ chosen, clear, verb, act, onDone }: Props) {
  const [left, setLeft] = useState<number | null>(null);
  const notice = useNotice();
  const refuse = useRefusal();
  if (chosen.size === 0 && left === null) return null;
  const run = async (): Promise<void> => {
    if (left !== null) return;
    const ids = [...chosen];
    const refusals: unknown[] = [];
    setLeft(ids.length);
    const take = async (): Promise<void> => {
      for (let id = ids.pop(); id !== undefined; id = ids.pop()) {
        await act(id).catch((error: unknown) => refusals.push(error));
        setLeft((before) => (before ?? 1) - 1);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, take));
    setLeft(null);
    const all = plural(chosen.size, 'delivery', 'deliveries');
    if (refusals.length === 0) notice(`${verb}: ${all}.`);
    else refuse(refusals[0], `${verb}: ${refusals.length} of ${all} refused.`);
    clear();
    onDone();
  };
  return (
    <div className="bulk" role="region" aria-label="Selected">
      <span>{left === null ? `${chosen.size} selected` : `${left} to go…`}</span>
      <div className="actions">
        <button type="button" className="button quiet" onClick={clear}>
          Clear
        </button>
        <button type="button" className="button primary" aria-disabled={left !== null} onClick={() => void run()}>
          {verb}
        </button>
      </div>
    </div>
  );
}
