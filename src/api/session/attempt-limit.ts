// How often somebody may try to sign in. What counts is what fails: by the address it came from, and all together, so
// that many addresses win nothing and the memory of them is bounded.
import { isIPv6 } from 'node:net';
import { ApiError } from '../../model/error.ts';
import type { Clock } from '../../runtime/clock.ts';

export type AttemptLimit = ReturnType<typeof createAttemptLimit>;

const PER_ADDRESS_MAX = 10;
const OVERALL_MAX = 100;
/** In this time as many more as there may be at once. */
const REFILL_MS = 60_000;
const ADDRESSES_MAX = 1_000;

type Bucket = { left: number; at: number };

export function createAttemptLimit(clock: Pick<Clock, 'monotonic'>) {
  const buckets = new Map<string, Bucket>();
  const overall: Bucket = { left: OVERALL_MAX, at: clock.monotonic() };

  const refill = (bucket: Bucket, max: number): void => {
    const now = clock.monotonic();
    bucket.left = Math.min(max, bucket.left + ((now - bucket.at) * max) / REFILL_MS);
    bucket.at = now;
  };
  /** The one that was tried from last comes last, so that the first is the one to forget. */
  const bucketOf = (source: string): Bucket => {
    const bucket = buckets.get(source) ?? { left: PER_ADDRESS_MAX, at: clock.monotonic() };
    buckets.delete(source);
    buckets.set(source, bucket);
    if (buckets.size > ADDRESSES_MAX) buckets.delete(buckets.keys().next().value!);
    return bucket;
  };

  return {
    /** Counts an attempt as one that fails; to be called before it is judged. Throws ApiError `rate_limited`. */
    begin(address: string): void {
      const own = bucketOf(sourceOf(address));
      refill(own, PER_ADDRESS_MAX);
      refill(overall, OVERALL_MAX);
      const waitMs = Math.max(waitOf(own, PER_ADDRESS_MAX), waitOf(overall, OVERALL_MAX));
      if (waitMs > 0) {
        throw new ApiError('rate_limited', 'too many attempts to sign in have failed; wait a little', {
          retryAfterSeconds: waitMs / 1000,
        });
      }
      own.left--;
      overall.left--;
    },
    /** It did not fail. */
    succeed(address: string): void {
      bucketOf(sourceOf(address)).left++;
      overall.left++;
    },
  };
}

function waitOf({ left }: Bucket, max: number): number {
  return left >= 1 ? 0 : ((1 - left) * REFILL_MS) / max;
}

/** Who has one IPv6 address has all of its /64. */
function sourceOf(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address;
  const [head, tail] = address.split('::');
  const groups = head!.split(':').filter((group) => group !== '');
  if (tail !== undefined && groups.length < 4) {
    const after = tail.split(':').filter((group) => group !== '');
    while (groups.length + after.length < 8) groups.push('0');
    groups.push(...after);
  }
  return groups.slice(0, 4).join(':');
}
