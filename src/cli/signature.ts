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
  const webhooks = secrets.map(readSecret);
  if (webhooks.length === 0) return () => ({ result: 'not_checked' });
  return (request) => {
    const reasons = webhooks.map((webhook) => refusalOf(webhook, request));
    const by = reasons.flatMap((reason, index) => (reason === null ? [index + 1] : []));
    return by.length > 0 ? { result: 'verified', by } : { result: 'refused', reason: reasons[0]! };
  };
}

/** The text itself is left out of the message: it may be a secret with a slip in it, and messages end in logs. */
function readSecret(secret: string, index: number): Webhook {
  const advice = `secret ${index + 1} is not a signing secret; they look like whsec_ and 44 characters of base64`;
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
