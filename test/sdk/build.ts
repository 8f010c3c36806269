// The client as it is published, in the node_modules of a project.
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import packageJson from '../../sdk/typescript/package.json' with { type: 'json' };

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');

/** Resolves to the package's folder. */
export async function installBuilt(project: string): Promise<string> {
  const installed = join(project, 'node_modules', packageJson.name);
  mkdirSync(installed, { recursive: true });
  for (const name of ['standardwebhooks', '@types', 'undici-types', '@stablelib', 'fast-sha256']) {
    const there = join(ROOT, 'node_modules', name);
    if (existsSync(there)) symlinkSync(there, join(project, 'node_modules', name));
  }
  cpSync(join(ROOT, 'sdk/typescript/package.json'), join(installed, 'package.json'));
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
  const argv = [TSC, '-p', join(ROOT, 'sdk/typescript'), '--outDir', join(installed, 'dist')];
  await promisify(execFile)(process.execPath, argv).catch(({ stdout }: { stdout: string }) => {
    throw new Error(`the client does not build: ${stdout}`);
  });
  return installed;
}
