// A change whose destination's owner does not answer: it is stored, and the answer says that nobody has confirmed it
// yet. It holds as soon as the owner wakes up, or is replaced.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Destination } from '../e2e/api.ts';
import type { Receiver } from '../e2e/receiver.ts';
import type { Service } from '../e2e/service.ts';
import type { PostgresServer } from '../store/postgres/server.ts';
import { sharedPostgres } from '../store/postgres/shared.ts';
import { Publisher, eventually, startStage, tally, type Stage } from './stage.ts';

type Subject = { destination: Destination; receiver: Receiver; publisher: Publisher; type: string };

let server: PostgresServer;
before(async () => {
  server = await sharedPostgres();
});
after(() => server.stop());

test('an owner that sleeps within its lease honours it when it wakes', async (t) => {
  const stage = await startStage(t, server, 2, { NODE_LEASE: '60s' });
  const [asked, owner] = stage.nodes as [Service, Service];
  const asleep = await stage.idOf(owner);
  const subjects = await makeSubjects(stage);
  process.kill(owner.pid, 'SIGSTOP');
  await changeAll(stage, subjects);
  assert.ok((await stage.owners()).includes(asleep), 'it is the owner still');
  process.kill(owner.pid, 'SIGCONT');
  // The same change again is answered when all that was asked before is honoured.
  await stage.api(asked).change(subjects.paused.destination.id, { status: 'paused' });
  await assertHeld(t, stage, subjects);
});

test('an owner that never wakes is replaced by one that honours it', async (t) => {
  const stage = await startStage(t, server, 2, { NODE_LEASE: '20s' });
  const [asked, owner] = stage.nodes as [Service, Service];
  const lost = await stage.idOf(owner);
  const subjects = await makeSubjects(stage);
  process.kill(owner.pid, 'SIGSTOP');
  await changeAll(stage, subjects);
  await eventually(
    () => stage.owners(),
    (owners) => !owners.includes(lost) && !owners.includes(null),
  );
  await stage.api(asked).change(subjects.paused.destination.id, { status: 'paused' });
  process.kill(owner.pid, 'SIGCONT');
  await assertHeld(t, stage, subjects);
});

type Subjects = Record<'paused' | 'deleted' | 'untouched', Subject>;

/** All are the second node's, and have work under way. */
async function makeSubjects(stage: Stage): Promise<Subjects> {
  const [asked, owner] = stage.nodes as [Service, Service];
  const make = async (name: string): Promise<Subject> => {
    const type = `to-be.${name}`;
    const receiver = await stage.receiver((request) => void setTimeout(() => request.answer(200), 20));
    const destination = await stage.destinationOf(owner, receiver, type);
    const publisher = new Publisher(stage, [type], { nodes: [asked], connections: 2, pauseMs: 100 });
    await publisher.promisedCount(10);
    await eventually(
      () => stage.attemptsAt(destination),
      ({ length }) => length > 0,
    );
    return { destination, receiver, publisher, type };
  };
  const [paused, deleted, untouched] = await Promise.all([make('paused'), make('deleted'), make('untouched')]);
  return { paused, deleted, untouched };
}

/** Every answer says what became of it, while the owner is asleep and still the owner. */
async function changeAll(stage: Stage, { paused, deleted }: Subjects): Promise<void> {
  const api = stage.api(stage.nodes[0]!);
  const answers = await Promise.all([
    api.send('PATCH', `/v1/destinations/${paused.destination.id}`, { status: 'paused' }),
    api.send('DELETE', `/v1/destinations/${deleted.destination.id}`),
  ]);
  for (const { status, body, headers } of answers) {
    assert.deepEqual([status, body.error.code], [503, 'unavailable']);
    assert.match(body.error.message, /the change is stored, but .* has not confirmed it yet/);
    assert.ok(Number(headers.get('retry-after')) > 0);
  }
  assert.equal((await api.readDestination(paused.destination.id)).status, 'paused', 'it is stored');
  assert.equal((await api.send('GET', `/v1/destinations/${deleted.destination.id}`)).status, 404, 'it is stored');
}

async function assertHeld(
  t: { diagnostic: (message: string) => void },
  stage: Stage,
  { paused, deleted, untouched }: Subjects,
): Promise<void> {
  const heldFrom = Date.now();
  const [asked] = stage.nodes;
  await stage.whenShared();
  const promised = await paused.publisher.stop();
  await deleted.publisher.stop();
  const result = await tally(untouched.receiver, await untouched.publisher.stop());
  for (const node of stage.nodes) await stage.whenNothingIsSent(node);
  for (const { destination, type } of [paused, deleted]) {
    const last = (await stage.attemptsAt(destination)).at(-1)!;
    assert.ok(last <= heldFrom, `${type}: one began ${last - heldFrom} ms too late`);
  }
  await stage.api(asked!).change(paused.destination.id, { status: 'active' });
  const later = await tally(paused.receiver, promised);
  t.diagnostic(`${JSON.stringify(result)}, and of the one that was paused ${JSON.stringify(later)}`);
}
