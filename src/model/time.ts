// Times as the API writes them.

/** RFC 3339 in UTC with milliseconds: `2026-01-31T09:30:00.000Z`. Takes Unix ms. */
export function formatTime(at: number): string {
  return new Date(at).toISOString();
}
