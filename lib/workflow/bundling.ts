import { chmodSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import { type AssetCode, Code } from 'aws-cdk-lib/aws-lambda';
import { type BuildOptions, buildSync } from 'esbuild';
import type { Deployment } from '../../core/config/deployment.ts';
import { offsetsNow } from '../../core/config/timing.ts';
import { ALL_STEPS, type AnyStepName, folderOf } from '../../core/step/steps.ts';

const PROJECT = join(import.meta.dirname, '..', '..');
const LAMBDAS = join(PROJECT, 'lambdas');
/** What the functions get in place of the SDK's chain of credential providers; nothing but the bundles is affected. */
const CREDENTIALS = join(PROJECT, 'core', 'aws', 'environment-credentials.ts');
const READABLE_BY_ALL = 0o644;
const OPTIONS = {
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  // Without this, esbuild takes the CommonJS copies of the SDK, which no tree can be shaken of.
  mainFields: ['module', 'main'],
  minify: true,
  // The SDK tells its errors apart by the names of their classes.
  keepNames: true,
  sourcemap: true,
  sourcesContent: false,
  alias: { '@aws-sdk/credential-provider-node': CREDENTIALS },
  absWorkingDir: PROJECT,
  logLevel: 'warning',
} satisfies BuildOptions;

const FOLDERS = (Object.keys(ALL_STEPS) as AnyStepName[]).map(folderOf);

let bundled: ReturnType<typeof bundleSteps> | undefined;

/**
 * The code of a step, bundled in this process: CDK's `NodejsFunction` starts npx for each function, which takes longer. The SDK
 * is bundled too, so that the same bits run here and on AWS; the configuration is beside the code, checked and with its
 * defaults, so that no function needs the schema (`docs/adr/0015`). `test/lib/bundle.test.ts` limits every bundle.
 */
export function bundledCode(step: AnyStepName, deployment: Deployment): AssetCode {
  const folder = folderOf(step);
  const tryBundle = (outputDir: string) => {
    bundled ??= bundleSteps();
    const files = bundled.get(folder);
    if (!files) throw new Error(`esbuild made no bundle of ${step}`);
    for (const { name, contents } of files) writeFileSync(join(outputDir, name), contents);
    // Rule and function agree: both have the zone data of this synthesis.
    const known: Deployment = { ...deployment, zoneOffsets: offsetsNow(deployment.timeZone) };
    writeFileSync(join(outputDir, 'deployment.json'), `${JSON.stringify(known, undefined, 2)}\n`);
    // Packed with their modes: under a strict umask Lambda could not read its own code.
    for (const file of readdirSync(outputDir)) chmodSync(join(outputDir, file), READABLE_BY_ALL);
    chmodSync(outputDir, 0o755);
    return true;
  };
  const bundling = {
    // For bundling in Docker, which never happens.
    image: DockerImage.fromRegistry('unused'),
    // A part of the key by which CDK finds what it has bundled already; the code of another deployment is another.
    environment: { DEPLOYMENT: JSON.stringify(deployment) },
    local: { tryBundle },
  };
  return Code.fromAsset(join(LAMBDAS, folder), { bundling, assetHashType: AssetHashType.OUTPUT });
}

/** The bundles of all steps by folder, made together: what they share is read and parsed once. */
function bundleSteps() {
  const entryPoints = FOLDERS.map((folder) => ({
    in: join(LAMBDAS, folder, 'handler.ts'),
    out: join(folder, 'index'),
  }));
  // Nothing is written there: the paths in the source maps are relative to it, and the same wherever the assembly lies.
  const place = { outdir: join(PROJECT, 'cdk.out'), outExtension: { '.js': '.mjs' }, write: false } as const;
  const { outputFiles } = buildSync({ ...OPTIONS, entryPoints, ...place });
  return Map.groupBy(
    outputFiles.map(({ path, contents }) => ({ path, name: basename(path), contents })),
    ({ path }) => basename(dirname(path)),
  );
}

/** Bundles an entry as the functions are bundled, its source map beside it. */
export function bundle(entry: string, outfile: string): void {
  buildSync({ ...OPTIONS, entryPoints: [entry], outfile });
}
