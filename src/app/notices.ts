// The service's own events: watched for among what the core tells, and accepted like a producer's.
import type { Acceptor } from '../accept/accept.ts';
import type { Follower } from '../configuration/follower.ts';
import type { Ownership } from '../model/ownership.ts';
import { createBacklogWatch } from '../notices/backlogs.ts';
import { Notices, type Notice } from '../notices/notices.ts';
import { Watcher } from '../notices/watcher.ts';
import type { Loop } from '../runtime/loop.ts';
import type { Base } from './base.ts';

/** `parts`: asked for when there is something to tell, for the acceptor is made after what is watched. */
type Parts = { acceptor: Acceptor; follower: Follower; ownership: Ownership };

export function createNotices({ clock, store, onError }: Base, parts: () => Parts) {
  const notices = new Notices({ clock, onError, post: (notice, key) => post(parts(), notice, key) });
  const watcher = new Watcher(notices, clock);
  const ownedShards = () => parts().ownership.ownedShards();
  const loops: Loop[] = [notices.loop, createBacklogWatch({ store, ownedShards, notices, clock, onError })];
  return { observer: watcher.observer, loops, start: (): void => watcher.start() };
}

async function post({ acceptor, follower }: Parts, notice: Notice, idempotencyKey: string): Promise<void> {
  const { type, environment, destinationId, data } = notice;
  const name = follower.destinationOf(destinationId)?.name ?? null;
  const value = { destination_id: destinationId, destination_name: name, ...data };
  const body = { bytes: new TextEncoder().encode(JSON.stringify(value)), parse: () => value };
  // An event that nobody wants would only be a row for nobody to read.
  const wanting = await follower.configurationOf(environment).matcher.match(type, body, { max: 0 });
  if (wanting.length === 0) return;
  await acceptor.accept({ environment, type, body, idempotencyKey, occurredAt: null, traceparent: null });
}
