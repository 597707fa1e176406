import { basename, dirname, join } from 'node:path';
import { type BuildOptions, build, type OutputFile } from 'esbuild';
import { ALL_FUNCTIONS, type FunctionName, folderOf } from '../../core/step/steps.ts';

/** Bundles the steps with esbuild. It does not import CDK, so that bundling starts before CDK is loaded. */

const PROJECT = join(import.meta.dirname, '..', '..');
const LAMBDAS = join(PROJECT, 'lambdas');
/** Replaces the SDK's chain of credential providers, in the bundles only. */
const CREDENTIALS = join(PROJECT, 'core', 'aws', 'environment-credentials.ts');
export const BUNDLE_OPTIONS = {
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  // By default esbuild uses the CommonJS copies of the SDK, which cannot be tree-shaken.
  mainFields: ['module', 'main'],
  minify: true,
  // The SDK recognises its errors by class name.
  keepNames: true,
  sourcemap: true,
  sourcesContent: false,
  // Native code, which differs by machine: on AWS a layer has it (`duckdb-layer.ts`).
  external: ['@duckdb/node-bindings-*'],
  alias: { '@aws-sdk/credential-provider-node': CREDENTIALS },
  // CommonJS libraries load Node.js modules with `require`, which ES modules do not have.
  banner: {
    js: "import{createRequire as requireOf}from'node:module';const require=requireOf(import.meta.url);",
  },
  absWorkingDir: PROJECT,
  logLevel: 'warning',
} satisfies BuildOptions;

/** All steps are bundled together, so that shared code is read and parsed once. */
const STEP_BUNDLES = {
  ...BUNDLE_OPTIONS,
  entryPoints: ALL_FUNCTIONS.map((step) => ({
    in: join(folderOfStep(step), 'handler.ts'),
    out: join(folderOf(step), 'index'),
  })),
  // esbuild does not write to this folder. Paths in the source maps are relative to it, so they do not depend on the
  // place of the assembly.
  outdir: join(PROJECT, 'cdk.out'),
  outExtension: { '.js': '.mjs' },
  write: false,
} as const;

/** A file of a bundle, in the folder of its step. */
type BundledFile = Pick<OutputFile, 'path' | 'contents'>;

let bundled: BundledFile[] = [];

export function folderOfStep(step: FunctionName): string {
  return join(LAMBDAS, folderOf(step));
}

/** The bundle of a step and its source map. @throws if the steps are not bundled */
export function bundleOfStep(step: FunctionName): BundledFile[] {
  const files = bundled.filter(({ path }) => basename(dirname(path)) === folderOf(step));
  if (files.length === 0) throw new Error(`there is no bundle of ${step}: await bundleAhead() first`);
  return files;
}

/** Bundles all steps. esbuild works in its own process while this one loads CDK. */
export async function bundleAhead(): Promise<void> {
  bundled = (await build(STEP_BUNDLES)).outputFiles;
}

/** Uses existing bundles. */
export function takeBundles(made: BundledFile[]): void {
  bundled = made;
}
