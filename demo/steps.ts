// The tour, in its order.
import { makeDestinations, repeatEvent, sendSamples, startService } from './delivering.ts';
import { pauseAndResume, replayEvent, rotateKey, stopService, takeStock } from './operating.ts';
import type { Step } from './tour.ts';
import { breakAndReplay, killAndRestart, recover } from './trouble.ts';

export const STEPS: readonly Step[] = [
  { title: 'Start the service', run: startService },
  { title: 'Make destinations and subscriptions', run: makeDestinations },
  { title: 'Send a dozen events', run: sendSamples },
  { title: 'Send the same event twice', run: repeatEvent },
  { title: 'A receiver fails, then recovers', run: recover },
  { title: 'A receiver stays broken: dead letter, then replay', run: breakAndReplay },
  { title: 'Replay an old event', run: replayEvent },
  { title: 'Rotate a signing key', run: rotateKey },
  { title: 'Pause a destination and resume it', run: pauseAndResume },
  { title: 'Kill the service in the middle (kill -9) and start it again', run: killAndRestart },
  { title: 'Take stock', run: takeStock },
  { title: 'Stop the service', run: stopService },
];
