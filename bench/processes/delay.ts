// A network between a service and its database: a TCP proxy that holds back what comes from either side.
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { serve, type DelayCommands } from './protocol.ts';

async function delay({ host, port, ms }: DelayCommands['delay']): Promise<number> {
  const server = createServer((near) => {
    const far = connect({ host, port, noDelay: true });
    near.setNoDelay(true);
    pass(near, far, ms);
    pass(far, near, ms);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Timers of one length end in the order in which they began, so bytes keep theirs. */
function pass(from: Socket, to: Socket, ms: number): void {
  from.on('data', (chunk) => setTimeout(() => to.write(chunk), ms));
  from.on('error', () => to.destroy());
  from.on('close', () => setTimeout(() => to.destroy(), ms));
}

serve({ delay });
