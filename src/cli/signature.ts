// Signatures as a receiver sees them, checked by the library that Standard Webhooks publishes, not by our own code.
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { UsageError } from '../config.ts';

export type Verdict =
  /** By which of the secrets, counted from 1: during a rotation's overlap two of them may hold. */
  { result: 'verified'; by: number[] } | { result: 'refused'; reason: string } | { result: 'not_checked' };

export type SignedRequest = { headers: Record<string, string>; body: Buffer };

export type Verify = (request: SignedRequest) => Verdict;

/** Without secrets nothing is checked. Throws UsageError at a text that is no signing secret. */
export function createVerifier(secrets: readonly string[]): Verify {
  const webhooks = secrets.map((secret, index) => readSecret(secret, describePlace(index, secrets.length)));
  if (webhooks.length === 0) return () => ({ result: 'not_checked' });
  return (request) => {
    const reasons = webhooks.map((webhook) => refusalOf(webhook, request));
    const by = reasons.flatMap((reason, index) => (reason === null ? [index + 1] : []));
    return by.length > 0 ? { result: 'verified', by } : { result: 'refused', reason: reasons[0]! };
  };
}

function describePlace(index: number, count: number): string {
  return count === 1 ? 'this' : `number ${index + 1} of ${count}`;
}

/** The text itself is left out of the message: it may be a secret with a slip in it, and messages end in logs. */
function readSecret(secret: string, place: string): Webhook {
  const advice = `--secret: ${place} is not a signing secret; they look like whsec_ and 32 to 88 characters of base64`;
  if (!secret.startsWith('whsec_')) throw new UsageError(advice);
  try {
    return new Webhook(secret);
  } catch (error) {
    throw new UsageError(advice, { cause: error });
  }
}

function refusalOf(webhook: Webhook, { headers, body }: SignedRequest): string | null {
  try {
    webhook.verify(body, headers, { jsonParse: false });
    return null;
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
    return error.message.toLowerCase();
  }
}
