import { chmodSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import { type AssetCode, Code } from 'aws-cdk-lib/aws-lambda';
import type { Deployment } from '../../core/config/deployment.ts';
import { offsetsNow } from '../../core/config/timing.ts';
import type { FunctionName } from '../../core/step/steps.ts';
import { bundleOfStep, folderOfStep } from './step-bundles.ts';

const READABLE_BY_ALL = 0o644;

/**
 * The code of a step, bundled in this process: CDK's `NodejsFunction` starts npx for each function, which takes longer. The SDK
 * is bundled too, so that the same bits run here and on AWS; the configuration is beside the code, checked and with its
 * defaults, so that no function needs the schema (`docs/adr/0015`). `test/lib/bundle.slow.test.ts` limits every bundle.
 */
export function bundledCode(step: FunctionName, deployment: Deployment): AssetCode {
  const tryBundle = (outputDir: string) => {
    for (const { name, contents } of bundleOfStep(step)) writeFileSync(join(outputDir, name), contents);
    // Rule and function agree: both have the zone data of this synthesis.
    const known: Deployment = { ...deployment, zoneOffsets: offsetsNow(deployment.timeZone) };
    writeFileSync(join(outputDir, 'deployment.json'), `${JSON.stringify(known, undefined, 2)}\n`);
    // Packed with their modes: under a strict umask Lambda could not read its own code.
    for (const file of readdirSync(outputDir)) chmodSync(join(outputDir, file), READABLE_BY_ALL);
    chmodSync(outputDir, 0o755);
    return true;
  };
  const bundling = {
    // CDK wants an image for bundling in Docker, which never happens.
    image: DockerImage.fromRegistry('unused'),
    // A part of the key by which CDK finds what it has bundled already; the code of another deployment is another.
    environment: { DEPLOYMENT: JSON.stringify(deployment) },
    local: { tryBundle },
  };
  return Code.fromAsset(folderOfStep(step), { bundling, assetHashType: AssetHashType.OUTPUT });
}
