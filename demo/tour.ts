// What the demo's steps share: the service, the destinations made so far, and a count of all that was sent.
import { createApi, type Api, type DeliveryReply, type DestinationReply, type EventReply } from './api.ts';
import { RecordingReceiver } from './recording-receiver.ts';
import type { Report } from './report.ts';
import type { Service, Started } from './service.ts';
import { poll } from './wait.ts';

export type Step = { title: string; run: (tour: Tour) => Promise<void> };

export type Destination = { id: string; receiver: RecordingReceiver; secret: string };

type DestinationRequest = {
  name: string;
  eventType: string;
  filter?: object | null;
  /** Delays between attempts; without jitter, so that the tour takes the same time each time. */
  scheduleSeconds?: number[];
  maxInFlight?: number;
};

export class Tour {
  readonly service: Service;
  readonly report: Report;
  readonly destinations = new Map<string, Destination>();
  readonly receivers: RecordingReceiver[] = [];
  /** Of everything that the service said it would deliver. */
  readonly deliveryIds = new Set<string>();
  /** The title of the step that is being taken. */
  step = '';
  eventCount = 0;
  retryCount = 0;
  #api: Api | null = null;
  #isClosed = false;
  readonly #onFault: (error: Error) => void;

  constructor(options: { service: Service; report: Report; onFault: (error: Error) => void }) {
    this.service = options.service;
    this.report = options.report;
    this.#onFault = options.onFault;
  }

  get api(): Api {
    if (this.#api === null) throw new Error('the service has not been started yet');
    return this.#api;
  }

  begin(number: number, title: string): void {
    this.step = title;
    this.report.begin(number, title);
  }

  /** The first start makes the key that all later calls use. */
  async startService(): Promise<Started> {
    const started = await this.service.start();
    this.#api ??= createApi(() => this.service.url(), started.keys.find(({ mode }) => mode === 'test')?.key ?? '');
    return started;
  }

  /** Prints a claim, and only if every fact that it rests on is so. */
  prove(claim: string, facts: Record<string, boolean>): void {
    const wrong = Object.keys(facts).filter((fact) => facts[fact] !== true);
    if (wrong.length > 0) throw new Error(`"${claim}" does not hold: not so: ${wrong.join('; ')}`);
    this.report.proved(claim);
  }

  /** A receiver, its destination and the subscription that feeds it. */
  async addDestination(request: DestinationRequest): Promise<Destination> {
    const { name, eventType, filter = null, scheduleSeconds, maxInFlight } = request;
    const receiver = new RecordingReceiver(name, this.#onFault);
    this.receivers.push(receiver);
    const url = await receiver.open();
    // The tour may have been ended meanwhile; an open port would keep the process.
    if (this.#isClosed) receiver.close();
    const body = {
      name,
      url,
      ...(scheduleSeconds && { retry_policy: { schedule_seconds: scheduleSeconds, jitter: 0 } }),
      ...(maxInFlight && { max_in_flight: maxInFlight }),
    };
    const made = await this.api.call<DestinationReply>('POST /v1/destinations', { expect: 201, body });
    const destination = { id: made.body.id, receiver, secret: made.body.signing_secret };
    receiver.trust([destination.secret]);
    this.destinations.set(name, destination);
    const subscription = { destination_id: destination.id, event_type: eventType, filter };
    await this.api.call('POST /v1/subscriptions', { expect: 201, body: subscription });
    return destination;
  }

  destination(name: string): Destination {
    return this.destinations.get(name)!;
  }

  /** `body` goes into the request as it is, so that its bytes can be compared with those that arrive. */
  async send(type: string, body: string, key?: string): Promise<EventReply> {
    const reply = await this.api.call<EventReply>('POST /v1/events', {
      expect: 202,
      body: eventRequest(type, body, key),
    });
    this.eventCount++;
    for (const { id } of reply.body.deliveries) this.deliveryIds.add(id);
    return reply.body;
  }

  /** Resolves with the delivery once it reads so: a result is stored a moment after its answer. */
  async untilStatus(id: string, status: string): Promise<DeliveryReply> {
    const read = async () => (await this.api.call<DeliveryReply>(`GET /v1/deliveries/${id}`, { expect: 200 })).body;
    return poll(`delivery ${id} to be ${status}`, read, (delivery) => delivery.status === status);
  }

  close(): void {
    this.#isClosed = true;
    for (const receiver of this.receivers) receiver.close();
  }
}

export function eventRequest(type: string, body: string, key?: string): string {
  const idempotency = key === undefined ? '' : `,"idempotency_key":${JSON.stringify(key)}`;
  return `{"type":${JSON.stringify(type)},"body":${body}${idempotency}}`;
}
