// A receiver with nothing but Node: node examples/receive-node.ts, with SIGNING_SECRET, and PORT (8384).
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { webhooks, WebhookVerificationError } from '@postrider/client';

const server = createServer((request, response) => void receive(request, response));
server.listen(Number(process.env.PORT ?? 8384), '127.0.0.1');

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const event = await webhooks.verify<{ order_id: string }>(request, process.env.SIGNING_SECRET!);
    console.log(event.type, event.data.order_id);
    response.writeHead(204).end();
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) console.error(error);
    response.writeHead(error instanceof WebhookVerificationError ? 401 : 500).end();
  }
}
