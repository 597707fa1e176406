import { createHash, randomUUID } from 'node:crypto';
import { globSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ALL_FUNCTIONS, folderOf } from '../../../core/step/steps.ts';
import { bundleAhead, bundleOfStep, takeBundles } from '../../../lib/workflow/step-bundles.ts';

/** The bundles of the functions, made once for all processes of a test run, and kept until their sources change. */

const ROOT = join(import.meta.dirname, '../../..');
const CACHE = join(ROOT, '.cache', 'bundles');
const DAY_MS = 86_400_000;
/** The inputs of the bundles: sources, versions of libraries, options of esbuild. */
const SOURCES = [
  ...['core/**', 'lambdas/**', 'transfer/**', 'lib/workflow/step-bundles.ts'],
  ...['package.json', 'package-lock.json', 'tsconfig.json'],
];

/** Bundles all functions, unless bundles of the same sources exist. @returns the folder of the bundles */
export async function keepBundles(): Promise<string> {
  const folder = join(CACHE, keyOfSources());
  if (statSync(folder, { throwIfNoEntry: false })) return folder;
  await bundleAhead();
  const unfinished = join(CACHE, `${randomUUID()}.unfinished`);
  for (const step of ALL_FUNCTIONS) {
    await mkdir(join(unfinished, folderOf(step)), { recursive: true });
    for (const { path, contents } of bundleOfStep(step))
      await writeFile(join(unfinished, folderOf(step), basename(path)), contents);
  }
  // Another test run may have been faster: its bundles are the same.
  await rename(unfinished, folder).catch(() => rm(unfinished, { recursive: true }));
  await forgetOld();
  return folder;
}

/** Makes this process deploy kept bundles, without source maps: they are two thirds of the bytes, and nothing reads them. */
export function useKeptBundles(folder: string): void {
  const filesIn = (step: string) =>
    readdirSync(join(folder, step))
      .filter((name) => !name.endsWith('.map'))
      .map((name) => join(folder, step, name));
  const paths = ALL_FUNCTIONS.map(folderOf).flatMap(filesIn);
  takeBundles(paths.map((path) => ({ path, contents: readFileSync(path) })));
}

function keyOfSources(): string {
  const hash = createHash('sha256');
  const files = globSync(SOURCES, { cwd: ROOT, withFileTypes: true }).filter((entry) => entry.isFile());
  for (const path of files.map(({ parentPath, name }) => join(parentPath, name)).toSorted())
    hash.update(`${path.slice(ROOT.length)}\0`).update(readFileSync(path));
  return hash.digest('hex');
}

/** Removes old bundles. Another test run may still use today's. */
async function forgetOld(): Promise<void> {
  const old = readdirSync(CACHE).filter((name) => statSync(join(CACHE, name)).mtimeMs < Date.now() - DAY_MS);
  await Promise.all(old.map((name) => rm(join(CACHE, name), { recursive: true, force: true })));
}
