// The machine's own names (/etc/hosts), which DNS servers do not know: `extra_hosts` of a container lands there.
import { readFile, stat } from 'node:fs/promises';
import { isIP } from 'node:net';
import type { Clock } from '../runtime/clock.ts';
import { saysNoneLeft } from './descriptors.ts';

const CHECK_INTERVAL_MS = 5_000;
/** Block lists of ads are kept as hosts files, too; past this size it is surely one. */
const FILE_BYTES_MAX = 4 * 1024 * 1024;

type Names = ReadonlyMap<string, readonly string[]>;

/** A change of the file is noticed at the first look-up at least five seconds after the last check. */
export function createHostsFile({ clock, path }: { clock: Clock; path: string }) {
  let names: Promise<Names> = Promise.resolve(new Map());
  let readVersion = '';
  let checkAt = Number.NEGATIVE_INFINITY;

  const refresh = async (known: Promise<Names>): Promise<Names> => {
    try {
      const { mtimeMs, size } = await stat(path);
      const version = `${mtimeMs} ${size}`;
      if (version === readVersion) return await known;
      const text = size <= FILE_BYTES_MAX ? await readFile(path, 'utf8') : '';
      readVersion = version;
      return parseHosts(text);
    } catch (error) {
      if (saysNoneLeft((error as NodeJS.ErrnoException).code)) {
        checkAt = Number.NEGATIVE_INFINITY;
        return known;
      }
      // No such file, or not ours to read: there are no local names then.
      readVersion = '';
      return new Map();
    }
  };

  return {
    /** The addresses of a name (lower case, no trailing dot); empty if the file does not have it. Never rejects. */
    async addressesOf(name: string): Promise<readonly string[]> {
      if (clock.monotonic() >= checkAt) {
        checkAt = clock.monotonic() + CHECK_INTERVAL_MS;
        names = refresh(names);
      }
      return (await names).get(name) ?? [];
    },
  };
}

/** `address name [alias…]` per line, `#` begins a comment; see hosts(5). */
function parseHosts(text: string): Names {
  const names = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...aliases] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const alias of aliases) names.getOrInsert(alias.toLowerCase(), []).push(address);
  }
  return names;
}
