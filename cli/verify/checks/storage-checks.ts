import { GetKeyRotationStatusCommand } from '@aws-sdk/client-kms';
import {
  GetBucketEncryptionCommand,
  GetBucketLifecycleConfigurationCommand,
  GetBucketVersioningCommand,
  GetPublicAccessBlockCommand,
  HeadObjectCommand,
  type LifecycleRule,
} from '@aws-sdk/client-s3';
import { eachOf } from '../../../core/each-of.ts';
import type { Check } from '../../checks/check.ts';
import { broken, type Finding, holds, holdsUnless } from '../../checks/finding.ts';
import { unlessNotEnforced } from '../base/not-enforced.ts';
import { RUN_RIGHTS } from '../base/runs.ts';
import type { Verifying } from '../base/verifying.ts';
import { configuredRules, deployedRule, ruleText } from './lifecycle.ts';

const BUCKET_TYPE = 'AWS::S3::Bucket';
const BLOCKED = ['BlockPublicAcls', 'BlockPublicPolicy', 'IgnorePublicAcls', 'RestrictPublicBuckets'] as const;

/** How files are kept. */
export const STORAGE_CHECKS: Check<Verifying>[] = [
  {
    id: 'encryption',
    question: 'Are the file and its manifest encrypted by the key of the deployment?',
    rights: [...RUN_RIGHTS, 's3:GetObject on `published/*`, `runs/*`', 'kms:Decrypt on the key, through S3'],
    makes: true,
    look: encryption,
  },
  {
    id: 'key-rotation',
    question: 'Is the key rotated?',
    rights: ['kms:GetKeyRotationStatus on the key'],
    look: rotation,
  },
  {
    id: 'lifecycle',
    question: 'Has the bucket the lifecycle rules of the template?',
    rights: ['s3:GetLifecycleConfiguration on the bucket'],
    look: lifecycle,
  },
  {
    id: 'versioning',
    question: 'Does the bucket keep versions?',
    rights: ['s3:GetBucketVersioning on the bucket'],
    look: versioning,
  },
  {
    id: 'public-access',
    question: 'Is the bucket closed to the public?',
    rights: ['s3:GetBucketPublicAccessBlock on the bucket'],
    look: publicAccess,
  },
];

function keyOf({ stack }: Verifying): string {
  return stack.ofType('AWS::KMS::Key')[0]?.physicalId ?? '';
}

async function encryption(verifying: Verifying): Promise<Finding> {
  const { target, runs } = verifying;
  const { key, manifestKey } = await runs.published();
  const wrong: string[] = [];
  let encrypted = 0;
  for (const Key of [key, manifestKey]) {
    const head = await target.s3.send(new HeadObjectCommand({ Bucket: target.BucketName, Key }));
    const { ServerSideEncryption: by, SSEKMSKeyId: id = '' } = head;
    encrypted += by ? 1 : 0;
    if (by !== 'aws:kms') wrong.push(`${Key} is encrypted by ${by ?? 'nothing'}`);
    else if (id.split('/').at(-1) !== keyOf(verifying)) wrong.push(`${Key} is encrypted with another key, ${id}`);
  }
  const finding = holdsUnless(wrong, `both by aws:kms with the key ${keyOf(verifying)} of the deployment`);
  if (encrypted > 0) return finding;
  // S3 encrypts every object: https://docs.aws.amazon.com/AmazonS3/latest/userguide/default-encryption-faq.html
  return unlessNotEnforced(target, finding, async () => {
    const { s3, BucketName: Bucket } = target;
    const { ServerSideEncryptionConfiguration: kept } = await s3.send(new GetBucketEncryptionCommand({ Bucket }));
    const by = kept?.Rules?.[0]?.ApplyServerSideEncryptionByDefault?.SSEAlgorithm;
    return by && `this cloud says that the bucket encrypts by ${by}, and keeps objects that nothing has encrypted`;
  });
}

async function rotation(verifying: Verifying): Promise<Finding> {
  const KeyId = keyOf(verifying);
  const { KeyRotationEnabled } = await verifying.target.kms.send(new GetKeyRotationStatusCommand({ KeyId }));
  return holdsUnless(KeyRotationEnabled ? [] : [`the key ${KeyId} is not rotated`], `the key ${KeyId} is rotated`);
}

async function lifecycle({ target, stack }: Verifying): Promise<Finding> {
  const configured = configuredRules(stack.physical(BUCKET_TYPE, target.BucketName).properties);
  const deployed = await rulesOf(target, target.BucketName);
  const [want, is] = [configured, deployed.map(deployedRule)].map((rules) => rules.map(ruleText));
  const missing = want?.filter((rule) => !is?.includes(rule)) ?? [];
  const more = is?.filter((rule) => !want?.includes(rule)) ?? [];
  const wrong = [...missing.map((rule) => `missing: ${rule}`), ...more.map((rule) => `not configured: ${rule}`)];
  const finding = holdsUnless(wrong, `${configured.length} rules, as configured`);
  if (deployed.length > 0) return finding;
  return unlessNotEnforced(target, finding, async () => {
    const others = stack.ofType(BUCKET_TYPE).filter(({ physicalId }) => physicalId !== target.BucketName);
    const withRules = others.filter(({ properties }) => configuredRules(properties).length > 0);
    const rules = await eachOf(withRules, ({ physicalId }) => rulesOf(target, physicalId));
    const none = withRules.length > 0 && rules.flat().length === 0;
    return none ? 'this cloud has no lifecycle rule of any bucket of the template' : undefined;
  });
}

async function rulesOf({ s3 }: Verifying['target'], Bucket: string): Promise<LifecycleRule[]> {
  try {
    return (await s3.send(new GetBucketLifecycleConfigurationCommand({ Bucket }))).Rules ?? [];
  } catch (error) {
    if (error instanceof Error && error.name === 'NoSuchLifecycleConfiguration') return [];
    throw error;
  }
}

async function versioning({ target: { s3, BucketName } }: Verifying): Promise<Finding> {
  const { Status = 'never enabled' } = await s3.send(new GetBucketVersioningCommand({ Bucket: BucketName }));
  return holdsUnless(Status === 'Enabled' ? [] : [`versioning is ${Status}`], 'versioning is Enabled');
}

async function publicAccess({ target: { s3, BucketName } }: Verifying): Promise<Finding> {
  const { PublicAccessBlockConfiguration: block } = await s3.send(
    new GetPublicAccessBlockCommand({ Bucket: BucketName }),
  );
  const open = BLOCKED.filter((setting) => block?.[setting] !== true);
  if (open.length === 0) return holds(`all four settings are on: ${BLOCKED.join(', ')}`);
  return broken(`off: ${open.join(', ')}`, 'All four should be on: npx cdk deploy --revert-drift.');
}
