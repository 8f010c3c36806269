// The body of an event as its producer wrote it: what JSON.parse makes of it has other digits and another order.
import type { Connection } from '../api/connection.ts';

const MEMBER = ',"body":';

/** Of an event as the API writes it: `body` is its last member, and no text before it holds an unescaped quote. */
export function rawBodyOf(json: string): string {
  return json.slice(json.indexOf(MEMBER) + MEMBER.length, json.lastIndexOf('}'));
}

/** null: it has been erased. Rejects where the service does not answer. */
export async function fetchBody({ url, key }: Connection, id: string, signal: AbortSignal): Promise<string | null> {
  const response = await fetch(`${url}/v1/events/${id}`, { headers: { authorization: `Bearer ${key}` }, signal });
  if (!response.ok) throw new Error(`its body could not be read (HTTP ${response.status})`);
  const body = rawBodyOf(await response.text());
  return body === 'null' ? null : body;
}
