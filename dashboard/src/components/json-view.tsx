// JSON as it came, or laid out; what is no JSON is shown as it is.
import { useState } from 'react';
import { layOut } from '../words/exact-json.ts';
import { visible } from '../words/visible.ts';
import { CopyButton } from './show.tsx';

/** Longer texts would hold up the page while they are laid out. */
const SHOWN_MAX = 100_000;

export function JsonView({ text, label }: { text: string; label: string }) {
  const [isRaw, setRaw] = useState(false);
  const pretty = prettyOf(text);
  const shown = isRaw || pretty === null ? visible(text) : pretty;
  return (
    <div className="stack-small">
      <div className="row">
        {pretty !== null && (
          <button
            type="button"
            className="button slim"
            aria-label={`Raw ${label}`}
            aria-pressed={isRaw}
            onClick={() => setRaw(!isRaw)}
          >
            Raw
          </button>
        )}
        <CopyButton text={text} of={label} />
      </div>
      <pre className="code" tabIndex={0} aria-label={label}>
        {shown.slice(0, SHOWN_MAX)}
      </pre>
      {shown.length > SHOWN_MAX && <p className="muted small">The rest is not shown; Copy takes all of it.</p>}
    </div>
  );
}

function prettyOf(text: string): string | null {
  try {
    return layOut(text);
  } catch {
    return null;
  }
}
