// Our own ends of connections, which nothing else hands out.
import { channel } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import type { TestContext } from 'node:test';

/** The sockets of this process that connect from now on, receivers' ends not among them. */
export function watchSockets(t: TestContext): Socket[] {
  const sockets: Socket[] = [];
  const take = (message: unknown): void => void sockets.push((message as { socket: Socket }).socket);
  const connecting = channel('net.client.socket');
  connecting.subscribe(take);
  t.after(() => connecting.unsubscribe(take));
  return sockets;
}
