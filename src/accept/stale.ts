// When the configuration changes faster than an event can be matched.
import { ApiError } from '../model/error.ts';

/** How often a match may be overtaken by a change of the configuration before we give up and say 503. */
export const STALE_TRIES_MAX = 50;

export function staleTooOften(): ApiError {
  return new ApiError('unavailable', 'subscriptions change too fast to match this event; try again', {
    retryAfterSeconds: 1,
  });
}
