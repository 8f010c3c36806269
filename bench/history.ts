// The history that a store is grown by: events with bodies, their deliveries, and every attempt of those, in chunks of
// one millisecond of the past month each, in the order of ids. A chunk is made once, as rows that hold everything but
// the time; they are written again and again, each time with another.
import { randomBytes } from 'node:crypto';
import { layOutId } from '../src/model/id.ts';
import { storyOf, type Recipient, type Story } from './stories.ts';

const EVENTS_PER_CHUNK = 200;
const FAN_OUT = 5;
export const DELIVERIES_PER_CHUNK = EVENTS_PER_CHUNK * FAN_OUT;
const DAY_MS = 86_400_000;
/** The oldest rows are younger than the retention of bodies: nothing must be erased while something is measured. */
const OLDEST_MS = 29 * DAY_MS;
/** By then the schedule of the newest is over, too. */
const NEWEST_MS = 4 * DAY_MS;
/** The time, at the start of an id. */
export const TIME_BYTES = 6;
const SHARD_BYTE = 9 - TIME_BYTES;

/** Makes it `to` deliveries, of which `from` are there already; `total` is what it will ever be grown to. */
export type Growth = { recipients: readonly Recipient[]; body: string; from: number; to: number; total: number };

/** Of ids all but the time; the shard is in it. */
export type Suffix = Uint8Array;
export type ChunkEvent = { suffix: Suffix; type: string };
export type ChunkDelivery = { suffix: Suffix; eventSuffix: Suffix; recipient: Recipient; story: Story };
export type Chunk = { events: ChunkEvent[]; deliveries: ChunkDelivery[] };

export function makeChunk(recipients: readonly Recipient[]): Chunk {
  const suffixes = createSuffixes();
  const events: ChunkEvent[] = [];
  const deliveries: ChunkDelivery[] = [];
  for (let event = 0; event < EVENTS_PER_CHUNK; event++) {
    const eventSuffix = suffixes();
    events.push({ suffix: eventSuffix, type: `history.type${event % 20}` });
    for (let i = 0; i < FAN_OUT; i++) {
      const index = event * FAN_OUT + i;
      const recipient = recipients[index % recipients.length]!;
      deliveries.push({ suffix: suffixes(recipient.shard), eventSuffix, recipient, story: storyOf(recipient, index) });
    }
  }
  return { events, deliveries };
}

/** Of the chunks to write, Unix ms. */
export function timesOf({ from, to, total }: Growth): number[] {
  const now = Date.now();
  const times: number[] = [];
  for (let at = from; at < to; at += DELIVERIES_PER_CHUNK)
    times.push(Math.round(now - OLDEST_MS + ((OLDEST_MS - NEWEST_MS) * at) / total));
  return times;
}

export function shardOf(suffix: Suffix): number {
  return suffix[SHARD_BYTE]!;
}

/** What follows the time in ids that are made one after the other within a millisecond. */
function createSuffixes(): (shard?: number) => Suffix {
  let counter = 0;
  return (shard = Math.floor(Math.random() * 256)) => {
    const bytes = randomBytes(16);
    layOutId(bytes, 0, { time: 0, counter: counter++, shard });
    return bytes.subarray(TIME_BYTES);
  };
}
