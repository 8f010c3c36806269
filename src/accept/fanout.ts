// An event that would make more deliveries than one event may.
import { ApiError } from '../model/error.ts';

export function overFanout(max: number): ApiError {
  return new ApiError(
    'over_fanout_limit',
    `this event would make more than ${max} deliveries, and nothing was stored; narrow the subscriptions that match ` +
      'it, or raise MAX_FANOUT',
  );
}

export function replayOverFanout(max: number): ApiError {
  return new ApiError(
    'over_fanout_limit',
    `this replay would make more than ${max} deliveries, and nothing was scheduled; name fewer destinations in ` +
      'destination_ids, and send the rest in further requests',
    { param: '/destination_ids' },
  );
}
