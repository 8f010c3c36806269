// A receiver with Hono, which runs on workers too: node examples/receive-hono.ts, with SIGNING_SECRET, and PORT (8384).
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { webhooks, WebhookVerificationError } from '@postrider/client';

const app = new Hono();
app.post('/', async (context) => {
  const event = await webhooks.verify<{ order_id: string }>(context.req.raw, process.env.SIGNING_SECRET!);
  console.log(event.type, event.data.order_id);
  return context.body(null, 204);
});
app.onError((error, context) => context.body(null, error instanceof WebhookVerificationError ? 401 : 500));
serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 8384), hostname: '127.0.0.1' });
