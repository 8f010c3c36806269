// A receiver with Fastify: node examples/receive-fastify.ts, with SIGNING_SECRET, and PORT (8384).
import Fastify, { type FastifyError } from 'fastify';
import { webhooks, WebhookVerificationError } from '@postrider/client';

const app = Fastify();
// The signature is over the raw bytes, so JSON is not parsed here. In a plugin of its own this holds for its routes only.
app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

app.post('/', async (request, reply) => {
  const event = await webhooks.verify<{ order_id: string }>(request, process.env.SIGNING_SECRET!);
  console.log(event.type, event.data.order_id);
  return reply.code(204).send();
});
// What Fastify refuses by itself, such as a body that is too large, has its status: it is no failure of this program.
app.setErrorHandler<FastifyError>((error, _request, reply) =>
  reply.code(error instanceof WebhookVerificationError ? 401 : (error.statusCode ?? 500)).send(),
);
await app.listen({ port: Number(process.env.PORT ?? 8384), host: '127.0.0.1' });
