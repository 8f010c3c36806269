// What nodes announce to each other about streams: who watches, and how far who records has come.
import { isId, type NodeId } from '../model/id.ts';
import type { ClusterStore } from '../store/cluster-store.ts';

/** Announcements about streams begin with it; a node that does not know them leaves them alone. */
export const STREAM_ANNOUNCEMENT = 'stream ';

export type Said =
  /** `asks`: for an answer, which is what was published. */
  | { about: 'watched'; environment: number; node: NodeId; withBodies: boolean; asks: boolean }
  /** The number of the last batch, -1 if there was none; `isNew`: just now. */
  | { about: 'published'; environment: number; node: NodeId; number: number; isNew: boolean }
  /** The node has come, and asks who watches. */
  | { about: 'joined'; environment: number; node: NodeId }
  /** The node died: what it had not left in the store yet is lost. */
  | { about: 'lost'; environment: number; node: NodeId };

/** Anybody who may connect to the database may have sent it. null: it is not understood. */
export function decodeSaid(text: string): Said | null {
  try {
    const said = JSON.parse(text.slice(STREAM_ANNOUNCEMENT.length)) as Said;
    const isWhole = Number.isInteger(said.environment) && isId('nod', said.node);
    const isKnown =
      ['watched', 'joined', 'lost'].includes(said.about) ||
      (said.about === 'published' && Number.isInteger(said.number));
    return isWhole && isKnown ? said : null;
  } catch {
    return null;
  }
}

type VoiceOptions = {
  node: NodeId;
  store: Pick<ClusterStore, 'announce'>;
  onError: (error: unknown) => void;
};

/** What one node says. What gets lost the next of its kind tells, so a failure is reported and no more. */
export class Voice {
  readonly #options: VoiceOptions;
  #isClosed = false;

  constructor(options: VoiceOptions) {
    this.#options = options;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** From now on nothing is said. */
  close(): void {
    this.#isClosed = true;
  }

  async say(said: Said): Promise<void> {
    try {
      if (!this.#isClosed) await this.#options.store.announce(STREAM_ANNOUNCEMENT + JSON.stringify(said));
    } catch (error) {
      this.#options.onError(error);
    }
  }

  sayWatched(environment: number, how: { withBodies: boolean; asks: boolean }): Promise<void> {
    return this.say({ about: 'watched', environment, node: this.#options.node, ...how });
  }

  sayPublished(environment: number, how: { number: number; isNew: boolean }): Promise<void> {
    return this.say({ about: 'published', environment, node: this.#options.node, ...how });
  }
}
