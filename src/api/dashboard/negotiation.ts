// Which bytes of a file a request gets: the encoding that it prefers, and none at all where it has them already.
import type { BuildFile, Variant } from './build.ts';

const PREFERRED: readonly Variant['encoding'][] = ['br', 'gzip', 'identity'];

/** By `Accept-Encoding` (RFC 9110, section 12.5.3); of those that are wanted equally the shortest. */
export function chooseVariant({ variants }: BuildFile, acceptEncoding: string | undefined): Variant {
  const weights = readWeights(acceptEncoding ?? '');
  let best: Variant = variants[0]!;
  let bestWeight = 0;
  for (const encoding of PREFERRED) {
    const variant = variants.find((one) => one.encoding === encoding);
    // Unnamed, plain bytes are welcome, and everything else is not; both less than what is named.
    const weight = weights.get(encoding) ?? weights.get('*') ?? (encoding === 'identity' ? Number.MIN_VALUE : 0);
    if (variant === undefined || weight <= bestWeight) continue;
    best = variant;
    bestWeight = weight;
  }
  return best;
}

function readWeights(acceptEncoding: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const part of acceptEncoding.split(',')) {
    const [name, ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    const quality = parameters.find((text) => text.startsWith('q='));
    const weight = quality === undefined ? 1 : Number(quality.slice(2));
    if (name !== '' && weight >= 0 && weight <= 1) weights.set(name!, weight);
  }
  return weights;
}

/** Whether `If-None-Match` names what would be sent: tags are compared weakly (RFC 9110, section 13.1.2). */
export function isUnchanged(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim());
  return tags.includes('*') || tags.some((tag) => tag.replace(/^W\//, '') === etag);
}
