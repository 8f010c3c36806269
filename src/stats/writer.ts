// Stores what this process has counted: every ten seconds, and at a stop. A crash loses what came since.
import type { DestinationActivity } from '../model/condition.ts';
import type { DestinationId } from '../model/id.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Store, StoredCounts } from '../store/store.ts';
import { latest, encodePulse, type Activity, type Heard, type Pulse } from './activity.ts';
import type { Counter } from './counter.ts';

/** A transaction of so many rows takes a few milliseconds; accepts and results wait no longer for it. */
const ROWS_PER_WRITE = 250;

/** What is on the wire to a destination; only of those that this process sends to. */
type OnWire = { destinationId: DestinationId; environment: number; inFlight: number; inFlightLimit: number };

type WriterOptions = {
  store: Pick<Store, 'writeCounts' | 'writeActivity'>;
  clock: Clock;
  environments: readonly number[];
  counter: Counter;
  activity: Activity;
  pulseOf: (environment: number) => Pulse;
  onWire: () => OnWire[];
};

export function createStatsWriter(options: WriterOptions) {
  const { store, clock, environments, counter, activity, pulseOf } = options;

  const writeCounts = async (): Promise<void> => {
    // Taken a part at a time: what is counted meanwhile goes along, and nothing is made for all at once.
    for (const rows of inParts(counter.takeDirty())) {
      try {
        await store.writeCounts(rows.map(({ row }) => row));
      } catch (error) {
        for (const { putBack } of rows) putBack();
        throw error;
      }
    }
    counter.forgetStored();
  };

  const writePulses = async (): Promise<void> => {
    const at = clock.now();
    const { writer } = counter;
    const row = (environment: number): StoredCounts => {
      const counts = encodePulse(pulseOf(environment));
      return { span: 'minute', environment, kind: 'pulse', subject: '', at, writer, counts };
    };
    await store.writeCounts(environments.map(row));
  };

  const writeActivity = async (): Promise<void> => {
    const onWire = new Map(options.onWire().map((one) => [one.destinationId, one]));
    const heard = activity.take();
    const ids = new Set([...heard.keys(), ...onWire.keys()]);
    const reports = [...ids].map((id) => toReport(id, heard.get(id), onWire.get(id), clock.now()));
    try {
      for (const part of inParts(reports)) await store.writeActivity(part);
    } catch (error) {
      activity.putBack();
      throw error;
    }
    activity.forgetTaken();
  };

  return async (): Promise<void> => {
    await writeCounts();
    await writeActivity();
    await writePulses();
  };
}

/** One of the two is there. Without `wire` nothing is on the wire any more. */
function toReport(
  destinationId: DestinationId,
  heard: Heard | undefined,
  wire: OnWire | undefined,
  reportedAt: number,
): DestinationActivity {
  const { environment } = (heard ?? wire)!;
  const { inFlight = 0, inFlightLimit = 0 } = wire ?? {};
  const nothing = { environment, lastAttemptAt: null, lastSuccessAt: null, lastFailure: null };
  return { ...latest(nothing, heard), destinationId, reportedAt, inFlight, inFlightLimit };
}

function* inParts<Item>(items: Iterable<Item>): Iterable<Item[]> {
  let part: Item[] = [];
  for (const item of items) {
    if (part.push(item) < ROWS_PER_WRITE) continue;
    yield part;
    part = [];
  }
  if (part.length > 0) yield part;
}
