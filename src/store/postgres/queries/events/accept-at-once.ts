// Accepting in one statement and one round trip: whatever of a batch is as expected, which is nearly all there ever is.
// What is not is left, and accepted in steps (accept.ts, which also says why a plain read of the version is enough).
// On one machine only: Citus writes one table at a time.
//
// Sent again after the connection was lost it may meet itself: what the earlier try has stored or is storing. Its rows'
// ids and keys are then taken, the statement waits for whoever is taking them, and what is there was accepted.
import { formatId, type EventId } from '../../../../model/id.ts';
import { StoreError, type AcceptResult, type NewEvent } from '../../../store.ts';
import type { BacklogChange } from '../../backlog.ts';
import { writeCounted, type WriteContext } from '../../context.ts';
import { isDuplicateRow, isLockTimeout, keyLocked } from '../../wire/errors.ts';
import { ParameterRows, insertOf, statementOfOneMachine } from '../../wire/statement.ts';
import { REACH_STANDBY, type Tx } from '../../wire/transaction.ts';
import { keyOf } from '../deliveries/delivery-tables.ts';
import { BODIES, EVENTS, toBodyRow, toDeliveries, toEventRow } from './accept.ts';
import { SELECT_TYPES } from './event-rows.ts';
import { KEY_COLUMNS, LIMIT_WAIT, hasKey, sortedClaims, toClaimRow } from './idempotency.ts';
import { PENDING_DELIVERIES, toPendingRow } from './insert-deliveries.ts';

const VERSIONS = new ParameterRows({ environment: 'int4', version: 'int8' }, 1);
const KEYS = new ParameterRows({ shard: 'int2', ...KEY_COLUMNS }, VERSIONS.next);
const EVENT_ROWS = new ParameterRows({ shard: 'int2', ...EVENTS.columns }, KEYS.next);
const BODY_ROWS = new ParameterRows({ shard: 'int2', ...BODIES.columns }, EVENT_ROWS.next);
const DELIVERY_ROWS = new ParameterRows({ shard: 'int2', ...PENDING_DELIVERIES.columns }, BODY_ROWS.next);

// Whose key another holds is left; and everything, where an environment's configuration has changed.
const ACCEPT = statementOfOneMachine<{ held: Uint8Array | null }>(
  'accept_at_once',
  `
  WITH changed AS MATERIALIZED (
    SELECT 1 FROM ${VERSIONS.as()} JOIN environments e ON e.id = r.environment WHERE e.config_version > r.version
  ),
  taken AS (
    ${insertOf('idempotency', KEY_COLUMNS).write(KEYS.as())}
    WHERE NOT EXISTS (SELECT FROM changed) ON CONFLICT DO NOTHING RETURNING event_id
  ),
  held AS MATERIALIZED (
    SELECT r.event_id FROM ${KEYS.as('event_id')} WHERE r.event_id NOT IN (SELECT event_id FROM taken)
  ),
  events_stored AS (${EVENTS.write(EVENT_ROWS.as())} WHERE ${isToBeStored('r.id')}),
  bodies_stored AS (${BODIES.write(BODY_ROWS.as())} WHERE ${isToBeStored('r.event_id')}),
  deliveries_stored AS (${PENDING_DELIVERIES.write(DELIVERY_ROWS.as())} WHERE ${isToBeStored('r.event_id')})
  SELECT NULL::uuid AS held FROM changed UNION ALL SELECT event_id FROM held`,
);

function isToBeStored(eventId: string): string {
  return `NOT EXISTS (SELECT FROM changed) AND ${eventId} NOT IN (SELECT event_id FROM held)`;
}

/** One result for each event; null: it is left. */
export async function acceptAtOnce(
  context: WriteContext,
  events: readonly NewEvent[],
  keyWaitMs: number,
): Promise<(AcceptResult | null)[]> {
  const stored = mayOverfill(context, events) ? new Set() : await storeAtOnce(context, events, keyWaitMs);
  const { sentBefore } = context;
  return events.map((event) => {
    if (!stored.has(event.id)) return null;
    const accepted: AcceptResult = { result: 'accepted', backlogFull: [] };
    return sentBefore.has(event) ? { ...accepted, mayBeUnderWay: true } : accepted;
  });
}

/** Some of their deliveries may have to be born dead. */
function mayOverfill({ backlog, backlogMax }: WriteContext, events: readonly NewEvent[]): boolean {
  const room = backlogMax - events.reduce((sum, { deliveries }) => sum + deliveries.length, 0);
  return events.some(({ deliveries }) => deliveries.some((one) => backlog.countOf(one.destinationId) > room));
}

async function storeAtOnce(
  context: WriteContext,
  events: readonly NewEvent[],
  keyWaitMs: number,
): Promise<Set<EventId>> {
  const { backlog, accepting, sentBefore } = context;
  // Of a part of a batch too, which was halved since: each of its events may be there.
  const isFirst = (): boolean => !events.some((event) => sentBefore.has(event));
  try {
    const left = await writeCounted(backlog, accepting.writeAtOnce, async (tx, change, nth) => {
      if (nth > 1) for (const event of events) sentBefore.add(event);
      for (const event of events) count(change, event, 1);
      const found = await send(tx, events, keyWaitMs);
      for (const event of events) if (found.has(event.id)) count(change, event, -1);
      return found;
    });
    const others = events.filter(({ id }) => left.has(id));
    const earlier = isFirst() ? new Set<EventId>() : await findStored(context, others);
    // Left without a key: the configuration has changed. Nothing was written, so nothing has waited for the earlier
    // try, which may yet commit: matched and stored again, under another id, the event would be there twice.
    const isUncertain = others.some((event) => !hasKey(event) && !earlier.has(event.id));
    if (!isFirst() && isUncertain) throw outcomeUnknown();
    return new Set(events.map(({ id }) => id).filter((id) => !left.has(id) || earlier.has(id)));
  } catch (error) {
    if (isFirst() || !isDuplicateRow(error)) throw error;
    return findStored(context, events);
  }
}

function outcomeUnknown(): StoreError {
  const message = 'the connection was lost during a commit, and what became of it cannot be told: try again';
  return new StoreError('unavailable', message);
}

function count(change: BacklogChange, { environment, deliveries }: NewEvent, each: 1 | -1): void {
  for (const { destinationId } of deliveries) change.add(destinationId, environment, each);
}

/** Resolves with those that are left. */
async function send(tx: Tx, events: readonly NewEvent[], keyWaitMs: number): Promise<Set<EventId>> {
  const claims = sortedClaims(events);
  if (claims.length > 0) void tx.run(LIMIT_WAIT, ['lock_timeout', String(keyWaitMs)]);
  const accepting = tx.run(ACCEPT, [
    ...VERSIONS.encode([...oldestVersions(events)]),
    ...KEYS.encode(claims.map(toClaimRow)),
    ...EVENT_ROWS.encode(events.map(toEventRow)),
    ...BODY_ROWS.encode(events.map(toBodyRow)),
    ...DELIVERY_ROWS.encode(
      events.flatMap((event) => event.deliveries.map((delivery) => toPendingRow(toDeliveries(event), delivery))),
    ),
  ]);
  const rows = await accepting.catch((error: unknown) => {
    throw claims.length > 0 && isLockTimeout(error) ? keyLocked(error) : error;
  });
  if (rows.some(({ held }) => held === null)) return new Set(events.map(({ id }) => id));
  return new Set(rows.map(({ held }) => formatId('evt', held!)));
}

/** That any of the events was matched against, for each environment. */
function oldestVersions(events: readonly NewEvent[]): Map<number, number> {
  const oldest = new Map<number, number>();
  for (const { environment, configVersion } of events) {
    oldest.set(environment, Math.min(configVersion, oldest.get(environment) ?? configVersion));
  }
  return oldest;
}

/** By an earlier try: what it stored is counted now. */
async function findStored({ backlog, accepting }: WriteContext, events: readonly NewEvent[]): Promise<Set<EventId>> {
  if (events.length === 0) return new Set();
  return writeCounted(backlog, accepting.write, async (tx, change) => {
    void tx.run(REACH_STANDBY);
    const keys = events.map(({ id }) => keyOf(id));
    const rows = await tx.batch(SELECT_TYPES, keys);
    const stored = new Set(rows.map((row) => formatId('evt', row.id)));
    for (const event of events) if (stored.has(event.id)) count(change, event, 1);
    return stored;
  });
}
