// Prometheus metrics. Labels come from closed lists: no URLs, event types or names, and no ids but of as many
// destinations as METRICS_PER_DESTINATION asks for. So each counter is there from the start, at 0 for each value of its
// label: what appears at 1 is no increase to who computes rates.
import { Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';
import { OUTCOMES } from '../model/attempt.ts';
import { END_STATUSES } from '../model/delivery.ts';
import { AUTOMATIC_PAUSE_REASONS } from '../model/destination.ts';
import { REFUSAL_REASONS } from '../model/event.ts';
import { BACKGROUND_STEPS } from './loop.ts';
import { addGauge, addProcessMetrics } from './process-metrics.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** What the gauges read when they are scraped. */
type Gauges = {
  onWire: () => number;
  waiting: () => number;
  unfinished: () => Promise<number>;
  shardsOwned: () => number;
  storedBytes: () => Promise<number>;
  eventLoopDelaySeconds: () => number;
  oldestDueSeconds: () => number;
  streamsOpen: () => number;
  operationsRunning: () => number;
  /** METRICS_PER_DESTINATION of them. */
  largestBacklogs: () => Promise<readonly { destinationId: string; unfinished: number }[]>;
};

export function createMetrics(version: string) {
  const registers = [new Registry()];
  const counter = (name: string, help: string) => new Counter({ name: `postrider_${name}`, help, registers });
  const tally = (name: string, help: string, labelNames: string[]) =>
    new Tally({ name: `postrider_${name}`, help, labelNames, registers });
  const tallyOf = (name: string, help: string, label: string, values: readonly string[]) => {
    const created = tally(name, help, [label]);
    for (const value of values) created.startAtZero({ [label]: value });
    return created;
  };
  addProcessMetrics(registers, version);

  return {
    registry: registers[0]!,
    eventsAccepted: counter('events_accepted_total', 'Events stored, each once.'),
    deliveriesScheduled: counter('deliveries_scheduled_total', 'Deliveries made for accepted and replayed events.'),
    acceptsRefused: tallyOf('accepts_refused_total', 'Events answered with 503, by reason.', 'reason', REFUSAL_REASONS),
    attempts: tallyOf('attempts_total', 'Attempts that were recorded, by outcome.', 'outcome', OUTCOMES),
    deliveriesFinished: tallyOf(
      'deliveries_finished_total',
      'Deliveries that ended, by status; without those that expired unsent, or whose destination was deleted.',
      'status',
      END_STATUSES,
    ),
    destinationsPaused: tallyOf(
      'destinations_paused_total',
      'Destinations paused automatically, by reason.',
      'reason',
      AUTOMATIC_PAUSE_REASONS,
    ),
    bodiesErased: counter('bodies_erased_total', 'Event bodies erased at the end of their retention.'),
    rowsPruned: counter('rows_pruned_total', 'Rows removed at the end of their retention.'),
    leaseRenewalsFailed: counter('lease_renewals_failed_total', 'Renewals of this node’s lease that failed.'),
    leasesLost: counter('leases_lost_total', 'Times that the other nodes gave this one up while it was running.'),
    nodesRemoved: counter(
      'nodes_removed_total',
      'Nodes that this one removed: their lease had run out, or their process had ended.',
    ),
    shardsTaken: counter('shards_taken_total', 'Shards that this node has taken over.'),
    shardsReleased: counter('shards_released_total', 'Shards that this node has handed over.'),
    loopFailures: tallyOf('loop_failures_total', 'Steps of background loops that failed.', 'loop', BACKGROUND_STEPS),
    attemptSeconds: new Histogram({
      name: 'postrider_attempt_duration_seconds',
      help: 'From the start of an attempt to its end.',
      buckets: [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60],
      registers,
    }),
    deliverySeconds: new Histogram({
      name: 'postrider_first_attempt_delay_seconds',
      help: 'From the accepting of an event to the start of the first attempt of each delivery.',
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 30, 300],
      registers,
    }),
    httpRequests: tally('http_requests_total', 'Requests answered, by method, path template and status.', [
      'method',
      'route',
      'status',
    ]),
    /** Adds the gauges; once, when there is something to read from. */
    watch: (gauges: Gauges): void => addGauges(registers, gauges),
  };
}

function addGauges(registers: Registry[], gauges: Gauges): void {
  const gauge = (name: string, help: string, read: () => number | Promise<number>) =>
    addGauge(registers, `postrider_${name}`, help, read);
  gauge('attempts_on_wire', 'Attempts on the wire now.', gauges.onWire);
  gauge('deliveries_waiting_in_memory', 'Deliveries due or nearly due that wait in memory.', gauges.waiting);
  gauge(
    'deliveries_unfinished',
    'Deliveries of the shards that this node owns that are pending or retrying; NaN while the store cannot be read.',
    gauges.unfinished,
  );
  gauge(
    'oldest_due_delivery_age_seconds',
    'How long the oldest delivery that may go out from this node has been due; 0 where none waits.',
    gauges.oldestDueSeconds,
  );
  gauge('streams_open', 'Streams of GET /v1/stream that are open at this node.', gauges.streamsOpen);
  gauge('operations_running', 'Operations that this node works on; one node does so.', gauges.operationsRunning);
  gauge('shards_owned', 'Shards that this node sends for; 256 in the whole cluster.', gauges.shardsOwned);
  gauge('stored_bytes', 'What the data take on disk; NaN while the store cannot be read.', gauges.storedBytes);
  gauge(
    'event_loop_delay_seconds',
    'Longest delay of the event loop since the last scrape, or in the last 15 s and more.',
    gauges.eventLoopDelaySeconds,
  );
  addBacklogs(registers, gauges.largestBacklogs);
}

/** The one label that is no closed list: at most METRICS_PER_DESTINATION series of a node at a time. */
function addBacklogs(registers: Registry[], read: Gauges['largestBacklogs']): void {
  const gauge: Gauge<'destination'> = new Gauge({
    name: 'postrider_destination_deliveries_unfinished',
    help: 'Deliveries that are pending or retrying, of the METRICS_PER_DESTINATION destinations that have the most.',
    labelNames: ['destination'],
    registers,
    async collect() {
      const backlogs = await read().catch(() => []);
      gauge.reset();
      for (const { destinationId, unfinished } of backlogs) gauge.set({ destination: destinationId }, unfinished);
    },
  });
}

type Labels = Readonly<Record<string, string>>;

/** What has been counted of the labels whose values lead here, and where a further label's values lead. */
type Counted = { labels: Labels | null; count: number; byValue: Map<string, Counted> };

/** A counter with labels, for what is counted with every request: plain numbers, handed over when somebody looks. */
class Tally {
  /** A level for each label: one text of all values would have to be made, and found, with every request. */
  #pending = nothingCounted();
  readonly #labelNames: readonly string[];
  readonly #counter: Counter<string>;

  constructor(options: { name: string; help: string; labelNames: string[]; registers: Registry[] }) {
    this.#labelNames = options.labelNames;
    this.#counter = new Counter({ ...options, collect: () => this.#handOver() });
  }

  count(labels: Labels, by = 1): void {
    let counted = this.#pending;
    for (const name of this.#labelNames) counted = entryOf(counted.byValue, labels[name]!);
    counted.labels = labels;
    counted.count += by;
  }

  startAtZero(labels: Labels): void {
    this.#counter.inc(labels, 0);
  }

  #handOver(): void {
    this.#handOverFrom(this.#pending);
    this.#pending = nothingCounted();
  }

  #handOverFrom({ labels, count, byValue }: Counted): void {
    if (labels !== null) this.#counter.inc(labels, count);
    for (const counted of byValue.values()) this.#handOverFrom(counted);
  }
}

function entryOf(byValue: Map<string, Counted>, value: string): Counted {
  let counted = byValue.get(value);
  if (counted === undefined) byValue.set(value, (counted = nothingCounted()));
  return counted;
}

function nothingCounted(): Counted {
  return { labels: null, count: 0, byValue: new Map() };
}
