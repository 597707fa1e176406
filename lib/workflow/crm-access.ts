import { ArnFormat, CfnParameter, CfnRule, Fn, Stack, Token } from 'aws-cdk-lib';
import { Effect, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import type { Configuration } from '../../core/config/configuration.ts';
import { digestOf } from '../../core/config/deployed.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import type { TokenStore } from '../resources/token-store.ts';
import type { StepFunction } from './step-function.ts';

/** Actions of AWS Lambda in a VPC with the function's role. The code of a function needs none of them. */
const INTERFACE_ACTIONS = [
  'CreateNetworkInterface',
  'DescribeNetworkInterfaces',
  'DescribeSubnets',
  'DeleteNetworkInterface',
  'AssignPrivateIpAddresses',
  'UnassignPrivateIpAddresses',
].map((action) => `ec2:${action}`);

type Network = NonNullable<Deployment['network']>;

/** Gives a function that calls the CRM or the file host access to the grant and the configured network. */
export function allowCrmCalls(
  { function: lambda, functionName, role }: StepFunction,
  { tokens, configuration }: { tokens: TokenStore; configuration: Configuration },
): void {
  tokens.allowTokens(role);
  const { network } = configuration.deployment;
  if (!network) return;
  const { subnetIds, securityGroupIds } = network;
  (lambda.node.defaultChild as CfnFunction).vpcConfig = { subnetIds, securityGroupIds };
  // Permissions and denial as in https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html (docs/adr/0041).
  const everywhere = { actions: INTERFACE_ACTIONS, resources: ['*'] };
  role.addToPrincipalPolicy(new PolicyStatement(everywhere));
  // The ARN is built from the name, because the function depends on this policy.
  const names = { service: 'lambda', resource: 'function', resourceName: functionName };
  const own = Stack.of(lambda).formatArn({ ...names, arnFormat: ArnFormat.COLON_RESOURCE_NAME });
  const conditions = { ArnEquals: { 'lambda:SourceFunctionArn': own } };
  role.addToPrincipalPolicy(new PolicyStatement({ ...everywhere, effect: Effect.DENY, conditions }));
}

/**
 * CloudFormation checks the subnets before it creates or changes resources
 * (https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-rules.html).
 * The parameter name contains a digest of its value, because CDK deploys a known parameter with its previous value.
 */
export function checkSubnets(stack: Stack, { vpcId, subnetIds }: Network): void {
  const id = `NetworkSubnets${digestOf(subnetIds)}`;
  new CfnParameter(stack, id, { type: 'List<AWS::EC2::Subnet::Id>', default: subnetIds.join(',') });
  const vpcs = Token.asList({ 'Fn::ValueOf': [id, 'VpcId'] });
  const assertDescription = `network.subnetIds of the configuration names a subnet that is not in ${vpcId}.`;
  const assertions = [{ assert: Fn.conditionEachMemberEquals(vpcs, vpcId), assertDescription }];
  new CfnRule(stack, 'NetworkSubnetsInVpc', { assertions });
}
