import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import {
  AlreadyExistsException,
  CloudFormationClient,
  CreateStackCommand,
  waitUntilStackCreateComplete,
} from '@aws-sdk/client-cloudformation';
import { clientSettings } from '../cli/support/target.ts';
import { LOCAL_REGION } from './ministack/ministack-environment.ts';
import { EnvironmentError } from './processes/environment-error.ts';

/** The template that `cdk bootstrap` deploys, from the package of the CDK CLI. */
const TEMPLATE = createRequire(import.meta.url).resolve('aws-cdk/lib/api/bootstrap/bootstrap-template.yaml');
const StackName = 'CDKToolkit';
/** The parameters that the CLI uses for an account without its own encryption key. */
const PARAMETERS = [{ ParameterKey: 'FileAssetsBucketKmsKeyId', ParameterValue: 'AWS_MANAGED_KEY' }];

/**
 * Prepares the account of a local cloud for CDK deployments, if needed. The CDK CLI would take a second to start.
 * @throws EnvironmentError when it fails
 */
export async function bootstrap(endpoint: string, signal?: AbortSignal): Promise<void> {
  const client = new CloudFormationClient(clientSettings({ endpointUrl: endpoint, region: LOCAL_REGION }));
  const options = { ...(signal && { abortSignal: signal }) };
  try {
    const TemplateBody = await readFile(TEMPLATE, 'utf8');
    const stack = { StackName, TemplateBody, Parameters: PARAMETERS, Capabilities: ['CAPABILITY_NAMED_IAM' as const] };
    await client.send(new CreateStackCommand(stack), options);
    await waitUntilStackCreateComplete(
      { client, maxWaitTime: 60, minDelay: 0.1, maxDelay: 1, ...options },
      { StackName },
    );
  } catch (cause) {
    signal?.throwIfAborted();
    if (cause instanceof AlreadyExistsException) return;
    const why = cause instanceof Error ? cause.message : cause;
    const message = `The local cloud could not be prepared for the deployment: its CloudFormation made no stack ${StackName}: ${why}`;
    throw new EnvironmentError(message, { cause });
  } finally {
    client.destroy();
  }
}
