// What happens, as it happens. Read by fetch, for a browser's EventSource cannot say which environment it means; where
// the service has no stream, or it is full, changes are looked for every few seconds instead.
import { useEffect, useRef } from 'react';
import type { Mode } from './client.ts';

type Kind = 'event' | 'attempt' | 'delivery' | 'destination';

/** However much happens, a page is told at most this often. */
const TOLD_EVERY_MS = 1_000;
const POLL_EVERY_MS = 3_000;
const RECONNECT_MS = 2_000;

/** Calls `onChange` after something of these kinds happened, while `isOn`. */
export function useLive(mode: Mode, kinds: readonly Kind[], isOn: boolean, onChange: () => void): void {
  const latest = useRef(onChange);
  latest.current = onChange;
  const list = kinds.join();
  useEffect(() => (isOn ? listen(mode, { kinds: list, told: () => latest.current() }) : undefined), [mode, list, isOn]);
}

type Listener = { kinds: string; told: () => void };

/** Those of a mode share one connection: a browser has six for all windows, and every request needs one too. */
const listeners: Record<Mode, Set<Listener>> = { live: new Set(), test: new Set() };
const streams: Record<Mode, { kinds: string; stopping: AbortController } | null> = { live: null, test: null };

function listen(mode: Mode, listener: Listener): () => void {
  listeners[mode].add(listener);
  connect(mode);
  return () => {
    listeners[mode].delete(listener);
    connect(mode);
  };
}

// Nobody looks at a hidden page: it reads again when it is shown.
document.addEventListener('visibilitychange', () => {
  connect('live');
  connect('test');
});

/** Follows what somebody listens to, and nothing where nobody does. */
function connect(mode: Mode): void {
  const wanted = new Set([...listeners[mode]].flatMap(({ kinds }) => kinds.split(',')));
  const kinds = document.hidden ? '' : [...wanted].sort().join();
  if ((streams[mode]?.kinds ?? '') === kinds) return;
  streams[mode]?.stopping.abort();
  streams[mode] = null;
  if (kinds === '') return;
  const stopping = new AbortController();
  streams[mode] = { kinds, stopping };
  const tellAll = (): void => {
    for (const { told } of listeners[mode]) told();
  };
  void follow(mode, kinds, spaced(tellAll, stopping.signal), stopping.signal);
}

async function follow(mode: Mode, kinds: string, told: () => void, signal: AbortSignal): Promise<void> {
  let lastId: string | null = null;
  let isAway = false;
  while (!signal.aborted) {
    try {
      const headers: Record<string, string> = { 'postrider-mode': mode };
      if (lastId !== null) headers['last-event-id'] = lastId;
      const response = await fetch(`/v1/stream?kinds=${kinds}`, { headers, signal });
      isAway = false;
      if (response.ok && response.body !== null) {
        // What happened while there was no connection: a stream that cannot resume begins with a gap.
        told();
        await readMessages(response.body, (id) => {
          lastId = id ?? lastId;
          told();
        });
      } else {
        await response.body?.cancel();
        told();
        await pause(POLL_EVERY_MS, signal);
        continue;
      }
    } catch {
      // The page was left, and nobody is told; or the service is away: who reads it now notices, and goes on trying.
      if (!isAway) told();
      isAway = true;
    }
    await pause(RECONNECT_MS, signal);
  }
}

async function readMessages(body: ReadableStream<Uint8Array>, onMessage: (id: string | null) => void): Promise<void> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const lines = block.split('\n');
      if (lines.some((line) => line.startsWith('event:'))) {
        onMessage(
          lines
            .find((line) => line.startsWith('id:'))
            ?.slice(3)
            .trim() ?? null,
        );
      }
    }
  }
}

function spaced(act: () => void, signal: AbortSignal): () => void {
  let timer: ReturnType<typeof setTimeout> | null = null;
  let actedAt = 0;
  return () => {
    if (timer !== null || signal.aborted) return;
    timer = setTimeout(
      () => {
        timer = null;
        actedAt = Date.now();
        if (!signal.aborted) act();
      },
      Math.max(0, actedAt + TOLD_EVERY_MS - Date.now()),
    );
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}
