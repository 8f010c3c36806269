// The dashboard as it was built, in memory: it is small, and then no path of a request ever reaches the disk. It may be
// built, or built again, while the service runs, so a page that is asked for looks whether the folder has changed.
import { hash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { Clock } from '../../runtime/clock.ts';

export type BuildReader = ReturnType<typeof createBuildReader>;
type Build = { page: BuildFile; assets: ReadonlyMap<string, BuildFile> };
/** `variants`: the plain bytes first, and those that the build has compressed. */
export type BuildFile = { type: string; variants: readonly Variant[] };
export type Variant = { encoding: 'identity' | 'gzip' | 'br'; bytes: Buffer; etag: string };

const LOOK_INTERVAL_MS = 1_000;
/** A build is a twentieth of it. */
const BYTES_MAX = 32 * 1024 * 1024;
const PAGE = 'index.html';
const ASSETS = 'assets';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};
const ENCODINGS: readonly [Variant['encoding'], string][] = [
  ['identity', ''],
  ['gzip', '.gz'],
  ['br', '.br'],
];

export function createBuildReader({ folder, clock }: { folder: string; clock: Pick<Clock, 'monotonic'> }) {
  let build: Build | null = null;
  let readAs = '';
  let lookedAt = Number.NEGATIVE_INFINITY;
  let looking: Promise<Build | null> | null = null;

  const look = async (): Promise<Build | null> => {
    const state = await stateOf(folder);
    lookedAt = clock.monotonic();
    if (state === readAs) return build;
    // Files that are still being written leave the folder in another state than the one that is noted here.
    build = state === '' ? null : await readBuild(folder);
    readAs = state;
    return build;
  };

  return {
    /** Null: there is none, or none that is whole. */
    current(): Promise<Build | null> {
      if (clock.monotonic() - lookedAt < LOOK_INTERVAL_MS) return Promise.resolve(build);
      looking ??= look().finally(() => (looking = null));
      return looking;
    },
  };
}

/** Differs when files have come or gone, or the page is another. '': there is no build. */
async function stateOf(folder: string): Promise<string> {
  const paths = [folder, join(folder, ASSETS), join(folder, PAGE)];
  const times = await Promise.all(paths.map(async (path) => (await orMissing(stat(path)))?.mtimeMs));
  return times.includes(undefined) ? '' : times.join();
}

async function readBuild(folder: string): Promise<Build | null> {
  const files = new Map<string, Buffer>();
  let bytes = 0;
  for (const name of [PAGE, `${PAGE}.gz`, `${PAGE}.br`, ...(await namesIn(join(folder, ASSETS)))]) {
    const content = await orMissing(readFile(join(folder, name)));
    if (content === null) continue;
    bytes += content.length;
    if (bytes > BYTES_MAX) throw new Error(`the dashboard in ${folder} is larger than ${BYTES_MAX} bytes`);
    files.set(name, content);
  }
  const page = describeFile(PAGE, files);
  if (page === null) return null;
  const assets = new Map<string, BuildFile>();
  for (const name of files.keys()) {
    const file = name.startsWith(`${ASSETS}/`) && !/\.(gz|br)$/.test(name) ? describeFile(name, files) : null;
    if (file !== null) assets.set(name.slice(ASSETS.length + 1), file);
  }
  return namesOfAssets(page).every((name) => assets.has(name)) ? { page, assets } : null;
}

async function namesIn(assets: string): Promise<string[]> {
  const entries = (await orMissing(readdir(assets, { withFileTypes: true }))) ?? [];
  return entries.filter((entry) => entry.isFile()).map(({ name }) => `${ASSETS}/${name}`);
}

function describeFile(name: string, files: ReadonlyMap<string, Buffer>): BuildFile | null {
  const plain = files.get(name);
  if (plain === undefined) return null;
  const tag = hash('sha256', plain, 'base64url').slice(0, 20);
  const variants = ENCODINGS.flatMap(([encoding, suffix]): Variant[] => {
    const bytes = files.get(name + suffix);
    return bytes === undefined ? [] : [{ encoding, bytes, etag: `"${tag}-${encoding}"` }];
  });
  return { type: TYPES[extname(name)] ?? 'application/octet-stream', variants };
}

/** What a page needs to work at all: without one of them its build is not done. */
function namesOfAssets({ variants: [plain] }: BuildFile): string[] {
  const references = plain!.bytes.toString().matchAll(/(?:src|href)="\/assets\/([^"?#]+)"/g);
  return [...references].map(([, name]) => name!);
}

async function orMissing<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
