// What nodes tell one another: that there is something to look at, never what it is. Whoever is told reads it from the
// store; whoever is not finds it by itself a little later (every step, and the sweep). So losing one costs only time.
import { FORCED_DUE_AT, isForced, type DueWork } from '../model/delivery.ts';
import { SHARD_COUNT, idShard, isId, ALL_SHARDS, type DestinationId } from '../model/id.ts';

export type WakeUp = {
  /** Destinations that have deliveries, due from then on; forced ones go out even while those are paused or held. */
  due: DueWork[];
  /** Shards that have so many of these that naming them would be too long. */
  shards: number[];
  /** Environments whose configuration changed. */
  changed: number[];
  /** Destinations whose owner has acknowledged a change. */
  acknowledged: DestinationId[];
  /** Nodes have come or gone, or shards are free. */
  hasMoved: boolean;
};

const NO_WAKE_UP: Readonly<WakeUp> = {
  due: [],
  shards: [],
  changed: [],
  acknowledged: [],
  hasMoved: false,
};

/** An id is 30 bytes and a time 13, with 4 of JSON; a payload of NOTIFY is shorter than 8,000. */
const IDS_PER_TEXT = 160;
/** More than so many ids become a bitmap of their shards. */
const IDS_MAX = 10 * IDS_PER_TEXT;
const BITMAP_BYTES = SHARD_COUNT / 8;
const FORMAT = 1;

/** As few texts as it takes; none if there is nothing to say. */
export function encodeWakeUp(wakeUp: WakeUp): string[] {
  const { due, acknowledged } = wakeUp;
  if (due.length > IDS_MAX) {
    const shards = new Set([...wakeUp.shards, ...due.map(({ destinationId }) => idShard(destinationId))]);
    return encodeWakeUp({ ...wakeUp, due: [], shards: [...shards] });
  }
  const { shards, changed, hasMoved } = wakeUp;
  const texts: string[] = [];
  if (shards.length > 0 || changed.length > 0 || hasMoved) {
    const bitmap = shards.length === 0 ? {} : { shards: toBitmap(shards) };
    texts.push(JSON.stringify({ f: FORMAT, ...bitmap, changed, moved: hasMoved }));
  }
  const scheduled = due.filter((work) => !isForced(work));
  for (const some of chunksOf(scheduled))
    texts.push(JSON.stringify({ f: FORMAT, due: some.map(idOf), from: some.map(({ dueAt }) => dueAt) }));
  for (const some of chunksOf(due.filter(isForced))) texts.push(JSON.stringify({ f: FORMAT, forced: some.map(idOf) }));
  for (const some of chunksOf(acknowledged)) texts.push(JSON.stringify({ f: FORMAT, acked: some }));
  return texts;
}

export function isWakeUp(text: string): boolean {
  return text.startsWith('{');
}

/** Anybody who may connect to the database may have sent it: what is not understood is left out. */
export function decodeWakeUp(text: string): WakeUp {
  const given = parse(text);
  if (given['f'] !== FORMAT) return NO_WAKE_UP;
  return {
    due: [...dueIn(given), ...idsIn(given['forced']).map((destinationId) => ({ destinationId, dueAt: FORCED_DUE_AT }))],
    shards: typeof given['shards'] === 'string' ? fromBitmap(given['shards']) : [],
    changed: listIn(given['changed']).filter((one) => Number.isInteger(one)) as number[],
    acknowledged: idsIn(given['acked']),
    hasMoved: given['moved'] === true,
  };
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function listIn(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A node of an earlier version does not say from when on: then all that the destination has is looked at. */
function dueIn({ due, from }: Record<string, unknown>): DueWork[] {
  const times = listIn(from);
  return listIn(due).flatMap((destinationId, i) => {
    const dueAt = times[i] ?? FORCED_DUE_AT;
    return isDestination(destinationId) && Number.isSafeInteger(dueAt)
      ? [{ destinationId, dueAt: dueAt as number }]
      : [];
  });
}

function isDestination(value: unknown): value is DestinationId {
  return typeof value === 'string' && isId('dst', value);
}

function idOf({ destinationId }: DueWork): DestinationId {
  return destinationId;
}

function* chunksOf<Item>(items: readonly Item[]): Iterable<Item[]> {
  for (let at = 0; at < items.length; at += IDS_PER_TEXT) yield items.slice(at, at + IDS_PER_TEXT);
}

function idsIn(value: unknown): DestinationId[] {
  return listIn(value).filter(isDestination);
}

function toBitmap(shards: readonly number[]): string {
  const bits = Buffer.alloc(BITMAP_BYTES);
  for (const shard of shards) bits[shard >> 3]! |= 1 << (shard & 7);
  return bits.toString('base64');
}

function fromBitmap(text: string): number[] {
  const bits = Buffer.from(text, 'base64');
  return ALL_SHARDS.filter((shard) => ((bits[shard >> 3] ?? 0) & (1 << (shard & 7))) !== 0);
}
