// What a writer is asked for and what its answer promises: each is held against the states that the database was in
// while the writer was at it, and against what its own commits changed.
import { idBytes } from '../../../src/model/id.ts';
import { uuidText } from '../../../src/store/postgres/wire/values.ts';
import type { Store } from '../../../src/store/store.ts';
import type { Scene } from '../scene.ts';
import type { DatabaseState, DeliveryRow } from './database-state.ts';
import type { Subject } from './subject.ts';
import type { Which } from './two-writers.ts';

export type Acting = { store: Store; scene: Scene; subject: Subject; writer: Which };

/** What the database was like while a writer was at it. */
export type View = {
  subject: Subject;
  /** From before its first statement on, each state once. */
  during: readonly DatabaseState[];
  /** Its own. */
  commits: readonly { before: DatabaseState; after: DatabaseState }[];
  /** What the last of its statements with one of these names found. */
  stateAt: (...statements: string[]) => DatabaseState;
};

export type Action<Answer = unknown> = {
  act: (on: Acting) => Promise<Answer>;
  /** Throws if the answer is not what was, or not what is. */
  judge: (answer: Answer, view: View) => void;
};

export const action = <Answer>(act: Action<Answer>['act'], judge: Action<Answer>['judge']): Action => {
  return { act, judge } as Action;
};

export const uuid = (id: string): string => uuidText(idBytes(id));

export function deliveryOf({ deliveries }: DatabaseState, { id }: Pick<Subject, 'id'>): DeliveryRow | undefined {
  return deliveries.find((row) => row.id === uuid(id));
}

export function destinationOf({ destinations }: DatabaseState, { destination }: Subject) {
  return destinations.find((row) => row.id === uuid(destination))!;
}

export function isDestinationDeleted(state: DatabaseState, subject: Subject): boolean {
  return destinationOf(state, subject).deleted_at !== null;
}

export const isErased = ({ horizons, bodies }: DatabaseState, { eventId }: Subject): boolean =>
  horizons.bodies > 0 || !bodies.includes(uuid(eventId));
export const isPruned = ({ horizons }: DatabaseState): boolean => horizons.rows > 0;
