// An import asks two services that may be slow, busy or away: what can be asked again is asked again, after as long a
// wait as the service wants.
import { backoffMsOf } from '../../../sdk/typescript/src/retries.ts';
import { delay, systemClock } from '../../runtime/clock.ts';
import { RequestError } from './request-error.ts';

/** Of a request that fails for a reason that passes. */
const TRIES_MAX = 7;
/** In a row for one request that is answered 429, and each: an import of thousands of endpoints is always too fast. */
const WAITS_MAX = 500;
const WAIT_MS_MAX = 300_000;
const WAIT_MS_TOLD = 5_000;

export class Patience {
  readonly #service: string;
  readonly #onWait: (text: string) => void;

  /** `service`: what people call it, as in "Svix is asked too often". `onWait` hears of waits long enough to wonder. */
  constructor(service: string, onWait: (text: string) => void) {
    this.#service = service;
    this.#onWait = onWait;
  }

  /** For what comes to the same when it is carried out twice. */
  async ask<Answer>(request: () => Promise<Answer>): Promise<Answer> {
    for (let retries = 0; ; retries += 1) {
      try {
        return await this.askOnce(request);
      } catch (error) {
        if (!(error instanceof RequestError) || !error.isPassing || retries + 1 === TRIES_MAX) throw error;
        await this.#wait(error.message, error.retryAfterMs ?? backoffMsOf(retries));
      }
    }
  }

  /** A 429 says that nothing was done, so it is asked again. */
  async askOnce<Answer>(request: () => Promise<Answer>): Promise<Answer> {
    for (let waits = 0; ; waits += 1) {
      try {
        return await request();
      } catch (error) {
        if (!(error instanceof RequestError) || !error.isTooMany || waits + 1 === WAITS_MAX) throw error;
        await this.#wait(`${this.#service} is asked too often`, error.retryAfterMs ?? backoffMsOf(waits));
      }
    }
  }

  async #wait(reason: string, ms: number): Promise<void> {
    const waitMs = Math.min(ms, WAIT_MS_MAX);
    if (waitMs >= WAIT_MS_TOLD) this.#onWait(`${reason}: asking again in ${Math.ceil(waitMs / 1_000)} s`);
    await delay(systemClock, waitMs);
  }
}
