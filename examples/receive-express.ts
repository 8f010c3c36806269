// A receiver with Express: node examples/receive-express.ts, with SIGNING_SECRET, and PORT (8384).
import express from 'express';
import { webhooks, WebhookVerificationError } from '@postrider/client';

const app = express();
// The signature is over the raw bytes: for this route express.raw() instead of express.json().
// Express 5 passes on what an async handler throws.
// oxlint-disable-next-line oxc/no-async-endpoint-handlers
app.post('/', express.raw({ type: 'application/json' }), async (request, response) => {
  try {
    const event = await webhooks.verify<{ order_id: string }>(request, process.env.SIGNING_SECRET!);
    console.log(event.type, event.data.order_id);
    response.sendStatus(204);
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
    response.sendStatus(401);
  }
});
app.listen(Number(process.env.PORT ?? 8384), '127.0.0.1');
