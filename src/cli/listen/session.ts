// What `listen` keeps between two events: what is under way, which were taken, what is being printed.
import type { Event } from '../../../sdk/typescript/src/postrider.ts';
import { isOperational, selects, toTypeSelection } from '../../model/event-type.ts';
import { formatTime } from '../../model/time.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { Asking } from '../api/service-command.ts';
import { print, printJson, sentences } from '../output.ts';
import { createForwarder, type Forward, type Forwarded } from './forward.ts';
import { formatForwarded, greeting, presentForwarded } from './presentation.ts';

/** As many are posted at one time: the service keeps what follows, and says what it could not keep. */
const AT_ONCE_MAX = 10;
/** Ids of events that were taken, so that none is posted twice after a break. */
const TAKEN_MAX = 10_000;
/** How long before another an event may be made and yet come after it: that one has overtaken it into the store. */
const OVERTAKEN_MS_MAX = 30_000;
/** Of what was missed so many are caught up with: a machine that slept for a night gets the newest. */
const MISSED_MAX = 100;

type Options = { url: URL; secret: string; types: readonly string[]; stop: AbortController; startedAt: number };

export class ListenSession {
  readonly #asking: Asking;
  readonly #options: Options;
  readonly #forward: Forward;
  readonly #underWay = new Set<Promise<void>>();
  /** When each was made, Unix ms by the service's clock. */
  readonly #taken = new Map<string, number>();
  /** When the newest of them was made; before there is one, when this began, by the clock here. */
  #newestAt: number;
  /** What was made before is not looked for: it is none of this session, or may have been taken and forgotten. */
  #lookFrom: number;
  #printed: Promise<void> = Promise.resolve();
  #failure: Error | null = null;

  constructor(asking: Asking, options: Options) {
    this.#asking = asking;
    this.#options = options;
    this.#forward = createForwarder({ url: options.url, secret: options.secret, signal: options.stop.signal });
    this.#newestAt = options.startedAt;
    this.#lookFrom = options.startedAt;
  }

  /** For people the lines that they need; for programs the secret. */
  greet(): void {
    const { url, secret } = this.#options;
    const { connection, isJson } = this.#asking;
    if (isJson) this.#say({ event: 'listening', url: connection.url, forward_to: url.href, secret });
    else this.#say(sentences(greeting({ from: connection.url, to: url.href, secret }), process.stdout));
  }

  /** Resolves when there is room for another. `body` null: it is to be fetched. */
  async take(event: Event, body: string | null): Promise<void> {
    if (this.#taken.has(event.event_id) || !this.#isWanted(event)) return;
    this.#remember(event);
    const posting = this.#post(event, body).finally(() => this.#underWay.delete(posting));
    this.#underWay.add(posting);
    if (this.#underWay.size >= AT_ONCE_MAX) await Promise.race(this.#underWay);
  }

  /** Finds what was accepted while nobody listened, says how much that is, and takes it. */
  async catchUp(explanation: string): Promise<void> {
    const missed: Event[] = [];
    const { client } = this.#asking;
    const [type, ...others] = this.#options.types;
    const since = formatTime(Math.max(this.#lookFrom, this.#newestAt - OVERTAKEN_MS_MAX));
    const query = { since, ...(others.length === 0 && type !== '**' ? { type: type! } : {}) };
    for await (const event of client.events.list(query, { signal: this.#options.stop.signal })) {
      if (this.#taken.has(event.event_id) || !this.#isWanted(event)) continue;
      missed.push(event);
      if (missed.length > MISSED_MAX) break;
    }
    const hasMore = missed.length > MISSED_MAX;
    const count = Math.min(missed.length, MISSED_MAX);
    if (this.#asking.isJson) this.#say({ event: 'missed', count, has_more: hasMore });
    else if (hasMore) this.#say(`${explanation}\n— the last ${count} of them follow`);
    else if (count === 0) this.#say('— no event was missed meanwhile');
    else this.#say(count === 1 ? '— 1 event was missed and follows' : `— ${count} events were missed and follow`);
    for (const event of missed.slice(0, MISSED_MAX).reverse()) await this.take(event, null);
  }

  /** Throws what kept it from printing. */
  async end(): Promise<void> {
    await Promise.all(this.#underWay);
    await this.#printed;
    if (this.#failure !== null) throw this.#failure;
  }

  async #post(event: Event, body: string | null): Promise<void> {
    const { stop } = this.#options;
    let data = body;
    let forwarded: Forwarded;
    try {
      data ??= (await this.#asking.client.events.body(event.event_id, { signal: stop.signal }))?.text ?? null;
      forwarded =
        data === null
          ? { code: null, error: 'its body has been erased', durationMs: 0 }
          : await this.#forward(event, data);
    } catch (error) {
      forwarded = { code: null, error: (error as Error).message, durationMs: 0 };
    }
    // What was cut off by Ctrl-C has no answer to show.
    if (forwarded.code === null && stop.signal.aborted) return;
    const shown = this.#asking.line.has('print-bodies') ? data : null;
    const at = systemClock.now();
    if (this.#asking.isJson) this.#say(presentForwarded({ at, event, forwarded, body: shown }));
    else this.#say(formatForwarded({ at, event, forwarded, body: shown }));
  }

  /** One after the other. When nobody reads any more, everything ends. */
  #say(line: string | object): void {
    this.#printed = this.#printed
      .then(() => (typeof line === 'string' ? print(line) : printJson(line)))
      .catch((error: unknown) => {
        this.#failure ??= error as Error;
        this.#options.stop.abort();
      });
  }

  #isWanted({ type }: Event): boolean {
    return this.#options.types.some((pattern) => {
      const selection = toTypeSelection(pattern);
      return selection === null ? !isOperational(type) : selects(selection, type);
    });
  }

  #remember({ event_id: id, created_at: createdAt }: Event): void {
    const at = Date.parse(createdAt);
    // From here on what was made when is said by one clock, the service's.
    if (this.#taken.size === 0) this.#newestAt = this.#lookFrom = at;
    this.#taken.set(id, at);
    this.#newestAt = Math.max(this.#newestAt, at);
    if (this.#taken.size <= TAKEN_MAX) return;
    const [first] = this.#taken;
    const [oldest, madeAt] = first!;
    this.#taken.delete(oldest);
    this.#lookFrom = Math.max(this.#lookFrom, madeAt);
  }
}
