import { join } from 'node:path';
import { build } from 'esbuild';
import { bundlingWith } from '../../lib/bundling.ts';

/** Bundles a file as the functions are bundled. @returns where the bundle is */
export async function bundle(entry: string, dir: string, name: string): Promise<string> {
  const { target = '', mainFields = [], minify = true, keepNames = true, esbuildArgs = {} } = bundlingWith('');
  const aliases = Object.entries(esbuildArgs).flatMap(([flag, value]) =>
    flag.startsWith('--alias:') ? [[flag.slice('--alias:'.length), String(value)]] : [],
  );
  const outfile = join(dir, `${name}.mjs`);
  await build({
    ...{ entryPoints: [entry], outfile, bundle: true, platform: 'node', format: 'esm', logLevel: 'error' },
    ...{ target, mainFields, minify, keepNames, alias: Object.fromEntries(aliases) },
  });
  return outfile;
}
