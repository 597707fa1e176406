import { basename, dirname, join } from 'node:path';
import { type BuildOptions, build, buildSync, type OutputFile } from 'esbuild';
import { ALL_FUNCTIONS, type FunctionName, folderOf } from '../../core/step/steps.ts';

/** What esbuild makes of the steps. Imports nothing of CDK, so that it can begin before that library is loaded. */

const PROJECT = join(import.meta.dirname, '..', '..');
const LAMBDAS = join(PROJECT, 'lambdas');
/** What the functions get in place of the SDK's chain of credential providers; nothing but the bundles is affected. */
const CREDENTIALS = join(PROJECT, 'core', 'aws', 'environment-credentials.ts');
const OPTIONS = {
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  // By default esbuild takes the CommonJS copies of the SDK, which no tree can be shaken of.
  mainFields: ['module', 'main'],
  minify: true,
  // The SDK tells its errors apart by the names of their classes.
  keepNames: true,
  sourcemap: true,
  sourcesContent: false,
  // Native code, for each machine another: on AWS a layer has it (`duckdb-layer.ts`).
  external: ['@duckdb/node-bindings-*'],
  alias: { '@aws-sdk/credential-provider-node': CREDENTIALS },
  // Libraries in CommonJS ask for modules of Node.js by `require`, which a module does not have.
  banner: {
    js: "import{createRequire as requireOf}from'node:module';const require=requireOf(import.meta.url);",
  },
  absWorkingDir: PROJECT,
  logLevel: 'warning',
} satisfies BuildOptions;

/** All steps are bundled together: what they share is read and parsed once. */
const STEP_BUNDLES = {
  ...OPTIONS,
  entryPoints: ALL_FUNCTIONS.map((step) => ({
    in: join(folderOfStep(step), 'handler.ts'),
    out: join(folderOf(step), 'index'),
  })),
  // esbuild writes nothing there: the paths in the source maps are relative to it, and the same wherever the assembly
  // lies.
  outdir: join(PROJECT, 'cdk.out'),
  outExtension: { '.js': '.mjs' },
  write: false,
} as const;

interface BundledFile {
  name: string;
  contents: Uint8Array;
}

let bundled: Map<string, BundledFile[]> | undefined;

export function folderOfStep(step: FunctionName): string {
  return join(LAMBDAS, folderOf(step));
}

/** The bundle of a step and its source map. Made here unless `bundleAhead` has. */
export function bundleOfStep(step: FunctionName): BundledFile[] {
  bundled ??= byFolder(buildSync(STEP_BUNDLES).outputFiles);
  const files = bundled.get(folderOf(step));
  if (!files) throw new Error(`esbuild made no bundle of ${step}`);
  return files;
}

/** esbuild works in a process of its own while this one loads the libraries of CDK. */
export async function bundleAhead(): Promise<void> {
  bundled = byFolder((await build(STEP_BUNDLES)).outputFiles);
}

/** Takes bundles that were made before, by the folder of each step. */
export function takeBundles(made: Map<string, BundledFile[]>): void {
  bundled = made;
}

/** Bundles an entry as the functions are bundled, its source map beside it. */
export function bundle(entry: string, outfile: string): void {
  buildSync({ ...OPTIONS, entryPoints: [entry], outfile });
}

function byFolder(files: OutputFile[]): Map<string, BundledFile[]> {
  return Map.groupBy(
    files.map(({ path, contents }) => ({ path, name: basename(path), contents })),
    ({ path }) => basename(dirname(path)),
  );
}
