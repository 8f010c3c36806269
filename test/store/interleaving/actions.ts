// Everything a writer may want of a delivery, its event or its destination, by name.
import { HOUR, die, fallBack, retryAt, succeed } from '../scene.ts';
import { deleteDestination, endKey, patch, rotate, subscribe, unsubscribe } from './configuration-actions.ts';
import { endDeleted, expire, prune, record, sendAgain, takeOver } from './delivery-actions.ts';
import { accept, replayEvent } from './event-actions.ts';
import type { Action } from './view.ts';

export const ACTIONS = {
  'a success': record(({ now }) => succeed(now)),
  'a failure': record(({ now, start }) =>
    start === 'succeeded, and forced'
      ? fallBack('succeeded', { deadReason: null, completedAt: now })
      : retryAt(now + HOUR),
  ),
  'a last failure': record(({ now }) => die('exhausted', now)),
  'a 410': record(({ now }) => ({ ...die('gone', now), pauseDestination: 'gone' })),
  'a cancelled attempt': record(() => null),
  'a manual retry': sendAgain('retryDelivery'),
  'a DLQ replay': sendAgain('replayDead'),
  'an accept': accept,
  'an event replay': replayEvent,
  'a deletion': deleteDestination,
  'a pause': patch({ status: 'paused' }),
  'an activation': patch({ status: 'active', url: 'https://elsewhere.example/' }),
  'a key rotation': rotate,
  'the end of a key': endKey,
  'a subscription': subscribe,
  'the end of a subscription': unsubscribe,
  expiry: expire,
  pruning: prune,
  'ending what a deletion left': endDeleted,
  'a takeover': takeOver,
} satisfies Record<string, Action>;

export type ActionName = keyof typeof ACTIONS;

/** What an action changes, or goes by. A last failure is to the database what a success is: it is tried with all. */
const TOUCHES: Record<ActionName, readonly ('delivery' | 'event' | 'destination' | 'routing' | 'keys')[]> = {
  'a success': ['delivery'],
  'a failure': ['delivery', 'destination'],
  'a last failure': [],
  'a 410': ['delivery', 'destination'],
  'a cancelled attempt': ['delivery'],
  'a manual retry': ['delivery'],
  'a DLQ replay': ['delivery'],
  'an accept': ['event', 'routing'],
  'an event replay': ['event', 'routing'],
  'a deletion': ['delivery', 'destination', 'routing', 'keys'],
  'a pause': ['destination', 'routing'],
  'an activation': ['destination', 'routing'],
  'a key rotation': ['keys'],
  'the end of a key': ['keys'],
  'a subscription': ['routing'],
  'the end of a subscription': ['routing'],
  expiry: ['delivery', 'event'],
  pruning: ['delivery', 'event'],
  'ending what a deletion left': ['delivery'],
  'a takeover': ['delivery'],
};

export function areRelated(one: ActionName, other: ActionName): boolean {
  return TOUCHES[one].some((thing) => TOUCHES[other].includes(thing));
}
