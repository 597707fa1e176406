import { execFileSync } from 'node:child_process';
import { App, CfnResource, type Stack, Validations } from 'aws-cdk-lib';
import { CfnKey } from 'aws-cdk-lib/aws-kms';
import { CfnBucket, CfnBucketPolicy } from 'aws-cdk-lib/aws-s3';
import { AwsSolutionsChecks } from 'cdk-nag';
import { type Configuration, ConfigurationError, readConfiguration } from '../core/config/configuration.ts';
import { ENTITIES } from '../core/config/entities.ts';
import { packageVersion } from '../core/package-version.ts';
import { acceptFindings } from './accepted-findings.ts';
import { ExportStack } from './export-stack.ts';

/**
 * The app with the stack of the deployment that the context names; it is written when the process ends. A mistake in
 * the configuration ends the process.
 * @param bundled resolves when the code of the steps is bundled
 * @returns the stack, for an app that adds rules of its company to it (docs/company-rules.md)
 */
export async function exportApp(bundled: Promise<void>): Promise<ExportStack> {
  const app = new App();
  try {
    const context = (key: string): unknown => app.node.tryGetContext(key);
    const { AWS_ENDPOINT_URL } = process.env;
    const configuration = readConfiguration(context('deployment'), context('configuration'), AWS_ENDPOINT_URL);
    await bundled;
    process.stderr.write(`${exportsText(configuration)}\n`);
    const name = `crm-export-${configuration.name}`;
    const stack = new ExportStack(app, name, { configuration, softwareVersion: softwareVersion() });
    rewritePolicies(stack, context('rewrite'), new Date());
    refuseLargePolicies(stack);
    // A finding outside the list ends the synthesis, so the stack is not deployed.
    acceptFindings(stack);
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
    return stack;
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    for (const line of error.message.split('\n')) process.stderr.write(`ConfigInvalid: ${line}\n`);
    process.exit(2);
  }
}

/** One line with the nightly exports. It shows that settings for one entity do not switch off the others. */
export function exportsText({ name, deployment: { entities } }: Pick<Configuration, 'name' | 'deployment'>): string {
  const textOf = (entity: (typeof ENTITIES)[number]) => {
    const { only, except } = entities[entity].columns;
    const parts = only ? [`${only.length} columns`] : [];
    if (except.length > 0) parts.push(`without ${except.join(', ')}`);
    return parts.length > 0 ? `${entity} (${parts.join(', ')})` : entity;
  };
  const on = ENTITIES.filter((entity) => entities[entity].enabled);
  const off = ENTITIES.filter((entity) => !entities[entity].enabled);
  const exported = on.length > 0 ? `exports ${on.map(textOf).join(', ')}` : 'exports nothing by itself';
  return `The deployment ${name} ${exported}.${off.length > 0 ? ` Switched off: ${off.join(', ')}.` : ''}`;
}

const POLICIES = /^AWS::(IAM::Policy|KMS::Key|S3::BucketPolicy|SNS::TopicPolicy|SQS::QueuePolicy)$/;

/**
 * Gives the first statement of each policy a new Sid, so that the deployment rewrites every policy. CloudFormation
 * compares with the previous template only, and misses policies that were changed in the account (`docs/adr/0008`).
 * @param asked from `-c rewrite=policies`; `undefined`: no change
 * @throws ConfigurationError for any other value
 */
export function rewritePolicies(stack: Stack, asked: unknown, now: Date): void {
  if (asked === undefined) return;
  if (asked !== 'policies') {
    throw new ConfigurationError(`-c rewrite=${String(asked)}: the only allowed value is -c rewrite=policies`);
  }
  const sid = `Rewritten${now.toISOString().slice(0, 19).replace(/\D/g, '')}`;
  for (const construct of stack.node.findAll()) {
    if (!(construct instanceof CfnResource) || !POLICIES.test(construct.cfnResourceType)) continue;
    const property = construct instanceof CfnKey ? 'KeyPolicy' : 'PolicyDocument';
    construct.addPropertyOverride(`${property}.Statement.0.Sid`, sid);
  }
}

/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-iam-policies.html */
const OF_BUCKET = 20 * 1024;
/** https://docs.aws.amazon.com/kms/latest/developerguide/resource-limits.html */
const OF_KEY = 32 * 1024;

/** The longest value of a reference: the ARN of a role whose name has 64 characters. */
const ARN = 'a'.repeat(95);
/** The longest ARN of a bucket: its name has 63 characters. Each statement for readers has several ARNs of buckets. */
const BUCKET_ARN = 'a'.repeat('arn:aws:s3:::'.length + 63);
/** The longest value of a pseudo parameter: the partition, Region, account or URL suffix. */
const PSEUDO = 'amazonaws.com.cn';

/**
 * Refuses a policy that is too large, which AWS would refuse in the middle of a deployment.
 * @throws ConfigurationError with the size that the policy may have once references are resolved
 */
export function refuseLargePolicies(stack: Stack): void {
  const all = stack.node.findAll();
  const buckets = all.filter((each) => each instanceof CfnBucket);
  const ids = new Set(buckets.map(({ logicalId }) => String(stack.resolve(logicalId))));
  const refuse = (whose: string, policy: unknown, most: number) => {
    const size = Buffer.byteLength(withoutReferences(stack.resolve(policy), ids));
    if (size <= most) return;
    const [has, allowed] = [size, most].map((bytes) => bytes.toLocaleString('en'));
    throw new ConfigurationError(
      `readers: the policy of ${whose} would have about ${has} bytes, and AWS allows ${allowed}: name accounts or an organization in place of single roles, or "all" in place of entities`,
    );
  };
  for (const resource of all) {
    if (resource instanceof CfnBucketPolicy) refuse('the bucket', resource.policyDocument, OF_BUCKET);
    if (resource instanceof CfnKey) refuse('the key', resource.keyPolicy, OF_KEY);
  }
}

/** The JSON of a resolved value with a text in place of every reference. @param buckets logical ids */
function withoutReferences(value: unknown, buckets: ReadonlySet<string>): string {
  const textOf = (id: string) => {
    if (id.startsWith('AWS::')) return PSEUDO;
    return buckets.has(id) ? BUCKET_ARN : ARN;
  };
  return JSON.stringify(value)
    .replaceAll(/\{"(?:Ref|Fn::GetAtt)":\[?"([^"]+)"[^}]*\}/g, (_, id) => `"${textOf(id)}"`)
    .replaceAll(/\{"Fn::Join":\["",\[(.*?)\]\]\}/g, (_, parts) => parts.replaceAll('","', ''));
}

/** The release that is being deployed: the version in package.json and, in a checkout, its commit. */
export function softwareVersion(): string {
  const version = packageVersion();
  try {
    const commit = execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], { encoding: 'utf8', stdio: 'pipe' });
    return `${version}+${commit.trim()}`;
  } catch {
    // There is no git or no checkout, as in a release unpacked from an archive.
    return version;
  }
}
