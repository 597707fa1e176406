import { GetKeyRotationStatusCommand } from '@aws-sdk/client-kms';
import {
  GetBucketLifecycleConfigurationCommand,
  GetBucketVersioningCommand,
  GetPublicAccessBlockCommand,
  HeadObjectCommand,
} from '@aws-sdk/client-s3';
import type { Check } from '../../checks/check.ts';
import { broken, type Finding, holds, holdsUnless } from '../../checks/finding.ts';
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
  for (const Key of [key, manifestKey]) {
    const head = await target.s3.send(new HeadObjectCommand({ Bucket: target.BucketName, Key }));
    const { ServerSideEncryption: by, SSEKMSKeyId: id = '' } = head;
    if (by !== 'aws:kms') wrong.push(`${Key} is encrypted by ${by ?? 'nothing'}`);
    else if (id.split('/').at(-1) !== keyOf(verifying)) wrong.push(`${Key} is encrypted with another key, ${id}`);
  }
  return holdsUnless(wrong, `both by aws:kms with the key ${keyOf(verifying)} of the deployment`);
}

async function rotation(verifying: Verifying): Promise<Finding> {
  const KeyId = keyOf(verifying);
  const { KeyRotationEnabled } = await verifying.target.kms.send(new GetKeyRotationStatusCommand({ KeyId }));
  return holdsUnless(KeyRotationEnabled ? [] : [`the key ${KeyId} is not rotated`], `the key ${KeyId} is rotated`);
}

async function lifecycle({ target, stack }: Verifying): Promise<Finding> {
  const { BucketName: Bucket, s3 } = target;
  const configured = configuredRules(stack.physical(BUCKET_TYPE, Bucket).properties);
  const { Rules = [] } = await s3
    .send(new GetBucketLifecycleConfigurationCommand({ Bucket }))
    .catch((error: unknown) => {
      if (error instanceof Error && error.name === 'NoSuchLifecycleConfiguration') return { Rules: [] };
      throw error;
    });
  const [want, is] = [configured, Rules.map(deployedRule)].map((rules) => rules.map(ruleText));
  const missing = want?.filter((rule) => !is?.includes(rule)) ?? [];
  const more = is?.filter((rule) => !want?.includes(rule)) ?? [];
  const wrong = [...missing.map((rule) => `missing: ${rule}`), ...more.map((rule) => `not configured: ${rule}`)];
  return holdsUnless(wrong, `${configured.length} rules, as configured`);
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
