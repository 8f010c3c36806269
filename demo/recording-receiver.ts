// A destination's own side: its receiver, what it answers, and everything that has arrived there. A request whose
// signature does not hold ends the tour.
import { systemClock } from '../src/runtime/clock.ts';
import { startReceiver, type Answer, type Arrival, type Receiver } from '../src/cli/receiver.ts';
import { createVerifier, type SignedRequest, type Verdict, type Verify } from '../src/cli/signature.ts';
import { waitFor } from './wait.ts';

export type ReceivedRequest = SignedRequest & {
  webhookId: string;
  deliveryId: string;
  attempt: number;
  /** The event's body, cut out of the request unparsed. */
  data: string;
  /** null: not answered yet, or cut. */
  answered: number | null;
};

type AnswerOf = (request: ReceivedRequest) => Answer | Promise<Answer>;

export class RecordingReceiver {
  /** All that arrived, verified or not. */
  requestCount = 0;
  /** Those that are verified. */
  readonly requests: ReceivedRequest[] = [];
  /** Replaced by steps that need a receiver in trouble. */
  answer: AnswerOf = () => 200;
  #verify: Verify = createVerifier([]);
  #changed = Promise.withResolvers<void>();
  #receiver: Receiver | null = null;
  readonly #name: string;
  readonly #onFault: (error: Error) => void;

  constructor(name: string, onFault: (error: Error) => void) {
    this.#name = name;
    this.#onFault = onFault;
  }

  /** Resolves with its URL. */
  async open(): Promise<string> {
    this.#receiver = await startReceiver({ port: 0, clock: systemClock, onArrival: (arrival) => this.#take(arrival) });
    return this.#receiver.url;
  }

  close(): void {
    this.#receiver?.close();
  }

  trust(secrets: readonly string[]): void {
    this.#verify = createVerifier(secrets);
  }

  of(eventId: string): ReceivedRequest[] {
    return this.requests.filter(({ webhookId }) => webhookId === eventId);
  }

  /** Resolves when what has arrived is as hoped; looks again at everything that arrives. */
  async until(what: string, isDone: () => boolean): Promise<void> {
    while (!isDone()) await waitFor(`${what} at ${this.#name}`, this.#changed.promise);
  }

  async #take(arrival: Arrival): Promise<Answer> {
    this.requestCount++;
    const verdict = this.#verify(arrival);
    const request = readRequest(arrival, verdict);
    if (request === null) {
      this.#onFault(new Error(`${this.#name} got a request that is NOT verified: ${explain(verdict)}`));
      return 401;
    }
    this.requests.push(request);
    this.#notify();
    const answer = await this.answer(request);
    request.answered = answer === 'cut' ? null : answer;
    this.#notify();
    return answer;
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

function readRequest({ headers, body }: Arrival, verdict: Verdict): ReceivedRequest | null {
  if (verdict.result !== 'verified') return null;
  const text = body.toString();
  return {
    headers,
    body,
    webhookId: headers['webhook-id']!,
    deliveryId: headers['postrider-delivery-id'] ?? '',
    attempt: Number(headers['postrider-attempt']),
    // Nothing before `"data":` holds a quote inside, so the first one is it; the last byte closes the envelope.
    data: text.slice(text.indexOf('"data":') + '"data":'.length, -1),
    answered: null,
  };
}

function explain(verdict: Verdict): string {
  return verdict.result === 'refused' ? verdict.reason : 'it came before its secret was known';
}
