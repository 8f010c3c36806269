// After the tour, with --keep: the service goes on, with receivers that mostly answer and an event every two seconds.
import { delay, systemClock } from '../src/runtime/clock.ts';
import { SAMPLES } from './samples.ts';
import { eventRequest, type Tour } from './tour.ts';

const EVENT_INTERVAL_MS = 2_000;
const REPORT = { type: 'report.ready', body: '{"report":"2026-02","pages":3}' };

/** Resolves with what to tell a person. */
export async function startAgain(tour: Tour): Promise<string> {
  const { url, signInLink } = await tour.service.start('to look at');
  // It has had its answers by now; from here on it is the one that fails.
  tour.destination('broken').receiver.answer = () => 500;
  return [
    `The service goes on at ${url}, with an event every two seconds,`,
    'and one receiver of them that fails. Ctrl-C ends it and removes its data.',
    '',
    'The dashboard, by a link that signs in once (10 minutes, on this machine):',
    `  ${signInLink}`,
    '',
  ].join('\n');
}

/** Never resolves; rejects when the service has gone. */
export async function sendOn(tour: Tour): Promise<never> {
  for (let n = 0; ; n++) {
    const { type, body } = n % 5 === 4 ? REPORT : SAMPLES[n % SAMPLES.length]!;
    await tour.api.call('POST /v1/events', { expect: 202, body: eventRequest(type, body) });
    // Kept for the tour's own checks, which are over.
    for (const { requests } of tour.receivers) requests.length = 0;
    await delay(systemClock, EVENT_INTERVAL_MS);
  }
}
