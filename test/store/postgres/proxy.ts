// A TCP proxy before the server that can cut a connection at the worst moment: at its COMMIT.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Before: the COMMIT never arrives. After: it does, and its answer does not, whatever that is. */
export type Cut = 'before' | 'after';

export type Proxy = {
  url: string;
  /** The next COMMIT that passes loses its connection. Resolves when it has. */
  cutNextCommit: (cut: Cut) => Promise<void>;
  /** Refuses everything, and cuts what is there. */
  goAway: () => void;
  /** Lets that many more connections pass, and refuses all that come after them. */
  admit: (count: number) => void;
  comeBack: () => void;
  /** As a firewall that forgets the connections there are: nothing passes on them, and nobody is told. */
  forget: () => void;
  close: () => Promise<void>;
};

const COMMIT = Buffer.from('COMMIT\0');
/** ReadyForQuery outside of a transaction: it has ended, in whatever way. */
const IDLE = Buffer.from('Z\0\0\0\u0005I', 'latin1');

export async function startProxy(serverUrl: string): Promise<Proxy> {
  const target = new URL(serverUrl);
  const { port, hostname } = target;
  const sockets = new Set<Socket>();
  let cut: { kind: Cut; done: () => void } | null = null;
  let isAway = false;
  let admitted = Number.POSITIVE_INFINITY;
  /** Connections made before this many times of forgetting are forgotten. */
  let forgettings = 0;

  const pass = (client: Socket): void => {
    if (isAway || admitted-- <= 0) {
      client.destroy();
      return;
    }
    const server = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
    const madeAt = forgettings;
    const end = (): void => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on('error', end);
      socket.on('end', () => madeAt === forgettings && end());
      socket.on('close', () => {
        sockets.delete(socket);
        end();
      });
    }
    let isCutting: (() => void) | null = null;
    client.on('data', (data: Buffer) => {
      if (madeAt !== forgettings) return;
      if (cut === null || !data.includes(COMMIT)) {
        server.write(data);
        return;
      }
      const { kind, done } = cut;
      cut = null;
      if (kind === 'before') {
        end();
        done();
      } else {
        isCutting = done;
        server.write(data);
      }
    });
    server.on('data', (data: Buffer) => {
      if (madeAt !== forgettings) return;
      // The server has committed, or refused to, and nobody will hear of it.
      if (isCutting === null) client.write(data);
      else if (data.includes(IDLE)) {
        end();
        isCutting();
      }
    });
  };

  const listener = createServer({ allowHalfOpen: true }, pass).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  target.port = String((listener.address() as AddressInfo).port);
  const cutAll = (): void => sockets.forEach((socket) => socket.destroy());
  return {
    url: target.href,
    cutNextCommit: (kind) => new Promise((resolve) => (cut = { kind, done: resolve })),
    goAway() {
      isAway = true;
      cutAll();
    },
    admit(count) {
      admitted = count;
    },
    comeBack() {
      isAway = false;
    },
    forget() {
      forgettings++;
    },
    async close() {
      cutAll();
      listener.close();
      await once(listener, 'close');
    },
  };
}
