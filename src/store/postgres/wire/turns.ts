// What must not pass each other: nodes that start on a database, and a copy that begins to fill it. Each takes the same
// lock in its own transaction and then looks for the others.
import { readProgress, refuseUnfinished } from '../copy/copy-progress.ts';
import { statement } from './statement.ts';
import type { Tx } from './transaction.ts';

/** 'turn' as a number. */
export const TURN_LOCK = 0x74_75_72_6e;

const TAKE_TURN = statement<never>('turns_take', `SELECT pg_advisory_xact_lock(${TURN_LOCK})`);

/** Until the transaction ends nobody else of them goes on; what they did is seen by the statements that follow. */
export async function takeTurn(tx: Tx): Promise<void> {
  await tx.run(TAKE_TURN);
}

/** Takes the turn of a node that is about to serve. Throws `in_use` while a copy into this database is unfinished. */
export async function takeTurnToServe(tx: Tx): Promise<void> {
  await takeTurn(tx);
  refuseUnfinished(await readProgress(tx));
}
