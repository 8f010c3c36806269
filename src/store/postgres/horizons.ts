// How far retention has come. What is older is gone for every reader from the moment its transaction commits, though
// the rows themselves may wait until their whole partition can be dropped. Horizons only move forward.
import { idTime } from '../../model/id.ts';
import { statement } from './wire/statement.ts';
import type { Transactions, Tx } from './wire/transaction.ts';

type HorizonName = 'bodies' | 'rows';

export type Horizons = ReturnType<typeof createHorizons>;

const SELECT = statement<{ name: HorizonName; before: number }>('horizons_select', 'SELECT name, before FROM horizons');

const RAISE = statement<never>(
  'horizons_raise',
  'UPDATE horizons SET before = $2::int8 WHERE name = $1 AND before < $2::int8',
);

export function createHorizons() {
  const times: Record<HorizonName, number> = { bodies: 0, rows: 0 };
  const note = (name: HorizonName, before: number): void => {
    times[name] = Math.max(times[name], before);
  };
  return {
    /** Events made before this (Unix ms) have no body any more, or no rows. */
    before: (name: HorizonName): number => times[name],
    /** Whether an event of this id, and so all that hangs on it, is past the horizon. */
    hides: (name: HorizonName, eventId: string): boolean => idTime(eventId) < times[name],
    /** Other nodes move them too. */
    async refresh(tx: Tx): Promise<void> {
      for (const { name, before } of await tx.run(SELECT)) note(name, before);
    },
    async advance(write: Transactions['write'], name: HorizonName, before: number): Promise<void> {
      if (before <= times[name]) return;
      await write((tx) => tx.change(RAISE, [name, before]));
      note(name, before);
    },
  };
}
