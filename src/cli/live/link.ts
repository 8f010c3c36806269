// What a live command says of its connection: when it broke, when it is back, and what was missed meanwhile.
import type { PostriderError } from '../../../sdk/typescript/src/postrider.ts';
import { formatTime } from '../../model/time.ts';
import { systemClock } from '../../runtime/clock.ts';
import { timeOfDay } from '../api/cells.ts';
import type { Connection } from '../api/connection.ts';
import { tell } from '../output.ts';
import { nextCommand } from '../next-command.ts';

type Link = {
  callbacks: { onConnect: () => void; onDisconnect: (error: PostriderError) => void };
  /** Until when everything is known. */
  heard: (message: { data: object }) => void;
  explainGap: (missed: number | null) => string;
};

/** `whereToLook`: the command that lists what a gap has swallowed. */
export function createLink({ url }: Connection, whereToLook: string, onFirst: () => void): Link {
  let brokeAt: number | null = null;
  let isConnected = false;
  /** By the service's clock where it has said anything. */
  let heardAt = formatTime(systemClock.now());
  return {
    callbacks: {
      onConnect() {
        const now = systemClock.now();
        if (brokeAt !== null) tell(`— connected again after ${Math.ceil((now - brokeAt) / 1000)} s`);
        else if (!isConnected) onFirst();
        isConnected = true;
        brokeAt = null;
      },
      onDisconnect(error) {
        if (brokeAt !== null) return;
        brokeAt = systemClock.now();
        tell(`— ${timeOfDay(brokeAt)} ${url}: ${error.message}; trying again until Ctrl-C`);
      },
    },
    heard({ data }) {
      const { updated_at: updated, created_at: created } = data as { updated_at?: string; created_at?: string };
      heardAt = updated ?? created ?? heardAt;
    },
    explainGap(missed) {
      const what =
        missed === null ? 'messages may be missing' : missed === 1 ? '1 message is' : `${missed} messages are`;
      const lost = missed === null ? what : `${what} missing`;
      return `— ${lost} since ${timeOfDay(heardAt)}: ${nextCommand(`${whereToLook} --since ${heardAt}`)}`;
    },
  };
}
