// Builds the dashboard into dist/: node build.ts. With --serve it serves the sources instead and reloads what changes;
// POSTRIDER_URL names the service that answers the API then (http://127.0.0.1:8383 unless it is set).
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { build, createServer, type InlineConfig, type ProxyOptions } from 'vite';

const root = import.meta.dirname;
const dist = join(root, 'dist');

const config: InlineConfig = {
  root,
  configFile: false,
  logLevel: 'warn',
  build: {
    outDir: dist,
    emptyOutDir: true,
    // The page's security policy allows no data: addresses, and a file of its own is kept by browsers.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      // Components mark themselves for servers that render: here all of them run in the browser.
      onwarn: (warning, warn) => {
        if (warning.code !== 'MODULE_LEVEL_DIRECTIVE') warn(warning);
      },
    },
  },
};

/** Beside each file, as .br and .gz: the service compresses nothing while it serves. */
async function compressAll(): Promise<void> {
  const names = await readdir(dist, { recursive: true });
  const texts = names.filter((name) => /\.(html|js|css|svg)$/.test(name)).map((name) => join(dist, name));
  await Promise.all(texts.map((file) => compress(file)));
}

async function compress(file: string): Promise<void> {
  const text = await readFile(file);
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
  await writeFile(`${file}.br`, await promisify(brotliCompress)(text, { params }));
  await writeFile(`${file}.gz`, await promisify(gzip)(text, { level: constants.Z_BEST_COMPRESSION }));
}

async function serve(): Promise<void> {
  const target = process.env.POSTRIDER_URL ?? 'http://127.0.0.1:8383';
  // The service refuses requests whose Origin is not its own: to it, these come from itself.
  const api: ProxyOptions = { target, changeOrigin: true, headers: { origin: target } };
  const proxy = { '/v1': api, '/session': api, '^/sign-in/.+': api };
  const server = await createServer({ ...config, logLevel: 'info', server: { host: '127.0.0.1', proxy } });
  await server.listen();
  server.printUrls();
}

if (process.argv.includes('--serve')) await serve();
else {
  await build(config);
  await compressAll();
}
