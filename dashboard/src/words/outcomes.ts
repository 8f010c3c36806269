// What happened, in words for people: what it was, why probably, what to do.
import type { Attempt, Delivery, DeliveryStatus, Outcome } from '../api/client.ts';

export type Tone = 'good' | 'wait' | 'bad' | 'idle';

export const STATUS: Record<DeliveryStatus, { word: string; tone: Tone }> = {
  pending: { word: 'Pending', tone: 'idle' },
  retrying: { word: 'Retrying', tone: 'wait' },
  succeeded: { word: 'Succeeded', tone: 'good' },
  dead: { word: 'Dead', tone: 'bad' },
};

export const OUTCOME_WORD: Record<Outcome, string> = {
  succeeded: 'Succeeded',
  bad_status: 'Refused',
  timed_out: 'Timed out',
  connect_failed: 'No connection',
  dns_failed: 'Name not found',
  tls_failed: 'TLS failed',
  blocked: 'Blocked',
  reset: 'Connection cut',
  invalid_response: 'Invalid response',
  cancelled: 'Cancelled',
};

export const DEAD_REASON: Record<
  NonNullable<Delivery['dead_reason']>,
  { word: string; cause: string; action: string }
> = {
  exhausted: {
    word: 'Retries exhausted',
    cause: 'Every attempt of the schedule failed.',
    action: 'Put the receiver right, then replay.',
  },
  gone: {
    word: 'Gone (410)',
    cause: 'The receiver answered 410: it wants no more events. The destination was paused.',
    action: 'Ask its owner. If that was a mistake, resume the destination and replay.',
  },
  destination_deleted: {
    word: 'Destination deleted',
    cause: 'The destination was deleted while this delivery waited.',
    action: 'Nothing can be sent to it any more. Replay the event to another destination if need be.',
  },
  expired: {
    word: 'Expired',
    cause: 'The event reached the age at which its body is erased before it was delivered.',
    action: 'It cannot be sent any more: publish it anew if it still matters.',
  },
  backlog_full: {
    word: 'Backlog full',
    cause: 'The destination had too many unfinished deliveries when the event came.',
    action: 'Let the backlog drain, then replay.',
  },
};

type Explanation = { what: string; cause: string; action: string };

export function explain({
  outcome,
  response_code: code,
  error,
}: Pick<Attempt, 'outcome' | 'response_code' | 'error'>): Explanation {
  if (outcome === 'succeeded') return { what: `The receiver answered ${code}.`, cause: '', action: '' };
  const { cause, action } = outcome === 'bad_status' ? explainStatus(code ?? 0) : CAUSES[outcome];
  const said = error ?? OUTCOME_WORD[outcome];
  return { what: `${said[0]!.toUpperCase()}${said.slice(1)}.`, cause, action };
}

const CAUSES: Record<Exclude<Outcome, 'succeeded' | 'bad_status'>, Omit<Explanation, 'what'>> = {
  timed_out: {
    cause: 'The receiver works on the event before it answers, or is overloaded.',
    action: 'Let it answer 2xx at once and do the work afterwards, or raise the timeout of its retry policy.',
  },
  connect_failed: {
    cause: 'The receiver is down, listens on another port, or a firewall is in between.',
    action: 'Check that it runs and can be reached from here; the address is in the destination.',
  },
  dns_failed: {
    cause: 'The host name has no address: a typing error, or its records were removed.',
    action: 'Check the host name in the destination’s URL.',
  },
  tls_failed: {
    cause: 'The certificate is not valid for this host, has expired, or its chain is not complete.',
    action: 'Renew or repair the receiver’s certificate. Nothing is sent over a connection that is not trusted.',
  },
  blocked: {
    cause: 'The host resolves to an address that this service does not send to, such as one of a private network.',
    action: 'Use a public address, or let the operator add the subnet to ALLOW_SUBNETS.',
  },
  reset: {
    cause: 'The receiver, or a proxy before it, closed the connection while it was answering. It may have crashed.',
    action: 'Look into the receiver’s log at that time.',
  },
  invalid_response: {
    cause: 'What came back is not HTTP, or far too large.',
    action: 'Check that the URL leads to the receiver and not to another service.',
  },
  cancelled: {
    cause: 'The destination was deleted or the service stopped while the request was on its way.',
    action: '',
  },
};

function explainStatus(code: number): Omit<Explanation, 'what'> {
  if (code >= 300 && code < 400 && code !== 304) {
    return { cause: 'Redirects are not followed.', action: 'Set the destination’s URL to where it leads.' };
  }
  const known = STATUS_CAUSES[code];
  if (known !== undefined) return known;
  return code >= 500
    ? { cause: 'The receiver has an error of its own.', action: 'Look into its log; the response below may say more.' }
    : { cause: 'The receiver does not accept this request.', action: 'The response below may say what it misses.' };
}

const STATUS_CAUSES: Record<number, Omit<Explanation, 'what'>> = {
  400: {
    cause: 'The receiver does not understand the event, or its signature check failed.',
    action: 'Compare the secret it verifies with, and what it expects with the body below.',
  },
  401: {
    cause: 'The receiver wants credentials, or its signature check failed.',
    action: 'Compare the secret it verifies with; add the header it wants to the destination.',
  },
  403: {
    cause: 'The receiver, or a firewall before it, refuses requests from here.',
    action: 'Compare the secret it verifies with; let its owner admit this service.',
  },
  404: { cause: 'There is nothing at this path.', action: 'Check the path of the destination’s URL.' },
  405: { cause: 'Nothing takes a POST at this path.', action: 'Check the path of the destination’s URL.' },
  410: {
    cause: 'The receiver wants no more events.',
    action: 'Ask its owner. If that was a mistake, resume the destination and replay.',
  },
  413: { cause: 'The event is larger than the receiver takes.', action: 'Raise the limit of the receiver.' },
  429: {
    cause: 'More requests than the receiver wants.',
    action: 'It is left alone as long as it asks. Setting rate_per_second avoids it.',
  },
  502: { cause: 'The proxy before the receiver cannot reach it.', action: 'Check that the receiver runs.' },
  503: { cause: 'The receiver is overloaded or being maintained.', action: 'Wait: it is tried again.' },
  504: { cause: 'The receiver did not answer its proxy in time.', action: 'Let it answer before it works.' },
};
