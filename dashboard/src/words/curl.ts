// A delivery's request as a command for a terminal. The headers that sign it are left out: nobody but the service and
// the receiver knows the secret.
import type { Delivery } from '../api/client.ts';

export function curlOf(url: string, body: string, delivery: Pick<Delivery, 'id' | 'event_id'>): string {
  return [
    `curl -X POST ${quote(url)}`,
    `-H ${quote('content-type: application/json')}`,
    `-H ${quote(`webhook-id: ${delivery.event_id}`)}`,
    `-H ${quote(`postrider-delivery-id: ${delivery.id}`)}`,
    `--data-raw ${quote(body)}`,
  ].join(' \\\n  ');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
