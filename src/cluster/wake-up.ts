// What nodes tell one another: that there is something to look at, never what it is. Whoever is told reads it from the
// store; whoever is not finds it by itself a little later (every step, and the sweep). So losing one costs only time.
import { SHARD_COUNT, idShard, isId } from '../model/id.ts';
import type { DestinationId } from '../model/id.ts';

export type WakeUp = {
  /** Destinations that have deliveries which are due. */
  due: DestinationId[];
  /** Destinations that have forced deliveries, which go out even while they are paused or held. */
  forced: DestinationId[];
  /** Shards that have so many of either that naming them would be too long. */
  shards: number[];
  /** Environments whose configuration changed. */
  changed: number[];
  /** Destinations whose owner has acknowledged a change. */
  acknowledged: DestinationId[];
  /** Nodes have come or gone, or shards are free. */
  hasMoved: boolean;
};

export const NO_WAKE_UP: Readonly<WakeUp> = {
  due: [],
  forced: [],
  shards: [],
  changed: [],
  acknowledged: [],
  hasMoved: false,
};

/** An id is 30 bytes and 3 of JSON; a payload of NOTIFY is shorter than 8,000. */
const IDS_PER_TEXT = 200;
/** More than so many ids become a bitmap of their shards. */
const IDS_MAX = 8 * IDS_PER_TEXT;
const BITMAP_BYTES = SHARD_COUNT / 8;
const FORMAT = 1;

/** As few texts as it takes; none if there is nothing to say. */
export function encodeWakeUp(wakeUp: WakeUp): string[] {
  const { due, forced, acknowledged } = wakeUp;
  if (due.length + forced.length > IDS_MAX) {
    const shards = new Set([...wakeUp.shards, ...due.map(idShard), ...forced.map(idShard)]);
    return encodeWakeUp({ ...wakeUp, due: [], forced: [], shards: [...shards] });
  }
  const { shards, changed, hasMoved } = wakeUp;
  const texts: string[] = [];
  if (shards.length > 0 || changed.length > 0 || hasMoved) {
    const bitmap = shards.length === 0 ? {} : { shards: toBitmap(shards) };
    texts.push(JSON.stringify({ f: FORMAT, ...bitmap, changed, moved: hasMoved }));
  }
  for (const [name, ids] of Object.entries({ due, forced, acked: acknowledged })) {
    for (let at = 0; at < ids.length; at += IDS_PER_TEXT) {
      texts.push(JSON.stringify({ f: FORMAT, [name]: ids.slice(at, at + IDS_PER_TEXT) }));
    }
  }
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
    due: idsIn(given['due']),
    forced: idsIn(given['forced']),
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

function idsIn(value: unknown): DestinationId[] {
  return listIn(value).filter((one): one is DestinationId => typeof one === 'string' && isId('dst', one));
}

function toBitmap(shards: readonly number[]): string {
  const bits = Buffer.alloc(BITMAP_BYTES);
  for (const shard of shards) bits[shard >> 3]! |= 1 << (shard & 7);
  return bits.toString('base64');
}

function fromBitmap(text: string): number[] {
  const bits = Buffer.from(text, 'base64');
  const all = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);
  return all.filter((shard) => ((bits[shard >> 3] ?? 0) & (1 << (shard & 7))) !== 0);
}
