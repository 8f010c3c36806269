// What a subscription is tried on, and what is said of an event that it could not be tried on.

/** Of the events that a list by a subscription's pattern has: `**` lists the service's own too, which it never gets. */
export function isMatchedBy(pattern: string, type: string): boolean {
  return pattern !== '**' || !type.startsWith('postrider.');
}

/** `code`: of the error; null where the service left the subscription out of many. */
export function sayUntried(code: string | null): string {
  if (code === null) return 'Not known';
  return code === 'event_too_old' ? 'Its body is erased' : 'Could not be tried just now';
}
