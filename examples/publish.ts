// Publishes an event: node examples/publish.ts, with POSTRIDER_URL and POSTRIDER_API_KEY.
import { Postrider } from '@postrider/client';

const postrider = new Postrider({ apiKey: process.env.POSTRIDER_API_KEY!, baseUrl: process.env.POSTRIDER_URL! });

const event = await postrider.events.publish({
  type: 'order.paid',
  body: { order_id: 'A-1001', total: 129.9 },
  // A second run within a day publishes nothing new.
  idempotency_key: 'A-1001-paid',
});
console.log(`${event.event_id}, deliveries: ${event.deliveries.length}`);
