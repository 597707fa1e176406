import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { AssetHashType, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { Configuration } from '../../core/config/configuration.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import type { FunctionName, RECORDER, StepName } from '../../core/step/steps.ts';
import type { EncryptionKey } from '../resources/encryption-key.ts';
import { bundledHere } from './duckdb-layer.ts';
import { bundleOfStep, folderOfStep } from './step-bundles.ts';

/** The settings of Lambda that differ by function. */
export type FunctionSettings = Required<Pick<lambda.FunctionProps, 'memorySize' | 'timeout'>> &
  Pick<lambda.FunctionProps, 'ephemeralStorageSize' | 'layers' | 'deadLetterQueue'>;

type StepFunctionProps = FunctionSettings & {
  configuration: Configuration;
  key: EncryptionKey;
  environment: Record<string, string>;
};

/** A function with its own role and log group. If a machine invokes it, `id` is the name of its state. */
export class StepFunction extends Construct {
  readonly role: Role;
  readonly functionName: string;
  readonly function: lambda.Function;
  /** The machine invokes an alias, because the permission to invoke a function needs a wildcard. */
  readonly alias: lambda.Alias;

  constructor(scope: Construct, id: FunctionName, props: StepFunctionProps) {
    super(scope, id);
    const { configuration, key, environment, ...settings } = props;
    const { name, deployment } = configuration;
    const functionName = `${Stack.of(this).stackName}-${id}`;
    const logGroup = new LogGroup(this, 'LogGroup', {
      logGroupName: `/aws/lambda/${functionName}`,
      retention: deployment.logRetentionDays as RetentionDays,
      encryptionKey: key.key,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    logGroup.grantWrite(this.role);
    this.function = new lambda.Function(this, 'Function', {
      functionName,
      code: bundledCode(id, deployment),
      handler: 'index.handler',
      runtime: lambda.Runtime.NODEJS_24_X,
      architecture: lambda.Architecture.ARM_64,
      ...settings,
      role: this.role,
      logGroup,
      tracing: lambda.Tracing.ACTIVE,
      // The namespace of the metrics contains the name of the deployment.
      environment: { DEPLOYMENT: name, ...(deployment.dashboard && { DASHBOARD: 'true' }), ...environment },
    });
    this.functionName = functionName;
    this.alias = new lambda.Alias(this, 'Live', { aliasName: 'live', version: this.function.currentVersion });
  }
}

/**
 * The functions of ExportRun. WriteTable exists only if an entity has `tables`, WriteChanges only if one has `changes`.
 */
export type ExportSteps = Record<Exclude<StepName, 'WriteTable' | 'WriteChanges'> | typeof RECORDER, StepFunction> &
  Partial<Record<'WriteTable' | 'WriteChanges', StepFunction>>;

/**
 * The code of a step, bundled in this process: CDK's `NodejsFunction` would start npx for each function. The SDK is
 * bundled too, so that the same code runs here and on AWS. The bundle has the configuration with its defaults, so that
 * a function needs no schema (`docs/adr/0015`). `test/lib/bundle.slow.test.ts` limits every bundle.
 */
function bundledCode(step: FunctionName, deployment: Deployment): lambda.AssetCode {
  // Part of the cache key, because the code contains the configuration of the deployment.
  const environment = { DEPLOYMENT: JSON.stringify(deployment) };
  const bundling = bundledHere((outputDir) => {
    for (const { path, contents } of bundleOfStep(step)) writeFileSync(join(outputDir, basename(path)), contents);
    writeFileSync(join(outputDir, 'deployment.json'), `${JSON.stringify(deployment, undefined, 2)}\n`);
  }, environment);
  return lambda.Code.fromAsset(folderOfStep(step), { bundling, assetHashType: AssetHashType.OUTPUT });
}
