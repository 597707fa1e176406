import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Stage } from 'aws-cdk-lib';
import { type BundlingOptions, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import type { Construct } from 'constructs';
import type { Configuration } from './config.ts';

/** What the functions get in place of the SDK's chain of credential providers; nothing but the bundles is affected. */
const CREDENTIALS = fileURLToPath(new URL('../lambdas/shared/environment-credentials.ts', import.meta.url));

/**
 * How the code of a function is bundled. The SDK is bundled too, so that the same bits run here and on AWS; the configuration
 * lies beside the code, checked and with its defaults, so that no function needs the schema (`docs/adr/0015`).
 * `test/lib/bundle.test.ts` holds every bundle to a limit.
 * @param configurationFile what `writeChecked` wrote
 */
export function bundlingWith(configurationFile: string): BundlingOptions {
  return {
    format: OutputFormat.ESM,
    target: 'node24',
    // Without this, esbuild takes the CommonJS copies of the SDK, which no tree can be shaken of.
    mainFields: ['module', 'main'],
    externalModules: [],
    minify: true,
    // The SDK tells its errors apart by the names of their classes.
    keepNames: true,
    sourceMap: true,
    sourcesContent: false,
    esbuildArgs: { '--alias:@aws-sdk/credential-provider-node': CREDENTIALS },
    commandHooks: {
      beforeBundling: () => [],
      beforeInstall: () => [],
      afterBundling: (_: string, outputDir: string) => [
        `cp ${JSON.stringify(configurationFile)} ${JSON.stringify(`${outputDir}/deployment.json`)}`,
        // Packed with their modes: under a strict umask Lambda could not read its own code.
        `chmod -R a+rX ${JSON.stringify(outputDir)}`,
      ],
    },
  };
}

/**
 * Writes a configuration, with its defaults, into the folder of the assembly: the commands that bundle copy it from there, for
 * a command's length has a limit.
 * @returns the file
 */
export function writeChecked(scope: Construct, { name, deployment }: Configuration): string {
  const file = join(Stage.of(scope)?.outdir ?? '', `${name}.deployment.json`);
  writeFileSync(file, `${JSON.stringify(deployment, undefined, 2)}\n`);
  return file;
}
