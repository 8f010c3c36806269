// Times as the API writes them.

/** RFC 3339 in UTC with milliseconds: `2026-01-31T09:30:00.000Z`. Takes Unix ms. */
export function formatTime(at: number): string {
  if (at !== lastAt) {
    lastText = new Date(at).toISOString();
    lastAt = at;
  }
  return lastText;
}

/** Of Unix ms. */
export function formatTimeOrNull(at: number | null): string | null {
  return at === null ? null : formatTime(at);
}

// An answer and a webhook each have several times, mostly the same one.
let lastAt = 0;
let lastText = new Date(0).toISOString();
