// Prometheus metrics. Labels come from closed lists only: no ids, URLs, event types or names.
import { Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';

export type Metrics = ReturnType<typeof createMetrics>;

/** What the gauges read when they are scraped. */
export type Gauges = {
  onWire: () => number;
  waiting: () => number;
  unfinished: () => Promise<number>;
  shardsOwned: () => number;
  storedBytes: () => Promise<number>;
  eventLoopDelaySeconds: () => number;
};

export function createMetrics() {
  const registers = [new Registry()];
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Counter<L>({ name: `postrider_${name}`, help, labelNames: [...labelNames], registers });

  return {
    registry: registers[0]!,
    eventsAccepted: counter('events_accepted_total', 'Events stored, each once.'),
    deliveriesScheduled: counter('deliveries_scheduled_total', 'Deliveries made for accepted and replayed events.'),
    acceptsRefused: counter('accepts_refused_total', 'Events answered with 503, by reason.', ['reason']),
    attempts: new Tally({
      name: 'attempts_total',
      help: 'Attempts that were recorded, by outcome.',
      label: 'outcome',
      registers,
    }),
    deliveriesFinished: new Tally({
      name: 'deliveries_finished_total',
      help: 'Deliveries that ended, by status.',
      label: 'status',
      registers,
    }),
    destinationsPaused: counter('destinations_paused_total', 'Destinations paused automatically, by reason.', [
      'reason',
    ]),
    bodiesErased: counter('bodies_erased_total', 'Event bodies erased at the end of their retention.'),
    rowsPruned: counter('rows_pruned_total', 'Rows removed at the end of their retention.'),
    leaseRenewalsFailed: counter('lease_renewals_failed_total', 'Renewals of this node’s lease that failed.'),
    leasesLost: counter('leases_lost_total', 'Times that the other nodes gave this one up while it was running.'),
    nodesRemoved: counter('nodes_removed_total', 'Nodes that this one removed because their lease had run out.'),
    shardsTaken: counter('shards_taken_total', 'Shards that this node has taken over.'),
    shardsReleased: counter('shards_released_total', 'Shards that this node has handed over.'),
    loopFailures: counter('loop_failures_total', 'Steps of background loops that failed.', ['loop']),
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
    /** Adds the gauges; once, when there is something to read from. */
    watch: (gauges: Gauges): void => addGauges(registers, gauges),
  };
}

function addGauges(registers: Registry[], gauges: Gauges): void {
  const gauge = (name: string, help: string, read: () => number | Promise<number>) =>
    new Gauge({
      name: `postrider_${name}`,
      help,
      registers,
      async collect() {
        this.set(await read());
      },
    });
  gauge('attempts_on_wire', 'Attempts on the wire now.', gauges.onWire);
  gauge('deliveries_waiting_in_memory', 'Deliveries due or nearly due that wait in memory.', gauges.waiting);
  gauge(
    'deliveries_unfinished',
    'Deliveries of the shards that this node owns that are pending or retrying.',
    gauges.unfinished,
  );
  gauge('shards_owned', 'Shards that this node sends for; 256 in the whole cluster.', gauges.shardsOwned);
  gauge('stored_bytes', 'What the data take on disk.', gauges.storedBytes);
  gauge(
    'event_loop_delay_seconds',
    'Longest delay of the event loop since the last scrape, or in the last 15 s and more.',
    gauges.eventLoopDelaySeconds,
  );
  gauge('resident_memory_bytes', 'Resident memory of the process.', () => process.memoryUsage.rss());
}

/** For what is counted with every attempt: a plain map, handed over when somebody looks. */
class Tally {
  readonly #pending = new Map<string, number>();
  readonly #label: string;
  readonly #counter: Counter<string>;

  constructor({ name, help, label, registers }: { name: string; help: string; label: string; registers: Registry[] }) {
    const collect = (): void => this.#handOver();
    this.#label = label;
    this.#counter = new Counter<string>({ name: `postrider_${name}`, help, labelNames: [label], registers, collect });
  }

  count(value: string): void {
    this.#pending.set(value, (this.#pending.get(value) ?? 0) + 1);
  }

  #handOver(): void {
    for (const [value, count] of this.#pending) this.#counter.inc({ [this.#label]: value }, count);
    this.#pending.clear();
  }
}
