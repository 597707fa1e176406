import {
  DeleteObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
} from '@aws-sdk/client-s3';
import { keyIdOf } from '../deployment-state.ts';
import { REWRITE } from '../support/aws-error.ts';
import { CannotTell, type Finding, holdsUnless } from './check.ts';
import { type Check, publishedBy, RUN_RIGHTS, unlessLocal, type Verifying } from './verify-export.ts';
import { TEMPORARY_PREFIX } from './verify-starts.ts';

type Put = Pick<PutObjectCommandInput, 'ServerSideEncryption' | 'SSEKMSKeyId'>;

const TEMPORARY_OBJECT_RIGHTS = ['s3:PutObject on `verify_/*`', 's3:DeleteObjectVersion on `verify_/*`'];

/** Checks of how files are stored, and of the requests that the bucket policy refuses for everyone. */
export const STORAGE_CHECKS: Check[] = [
  {
    id: 'encryption',
    question: 'Are the file and its manifest encrypted by the key of the deployment?',
    rights: [
      ...RUN_RIGHTS,
      'cloudformation:ListStackResources on the stack',
      's3:GetObject on `published/*`, `runs/*`',
      'kms:Decrypt on the key, through S3',
    ],
    answer: encryption,
  },
  {
    id: 'plain-http',
    question: 'Is an object refused that comes by plain http?',
    rights: TEMPORARY_OBJECT_RIGHTS,
    answer: (verifying) => refused(verifying, { 'by plain http': {} }, true),
  },
  {
    id: 'foreign-key',
    question: 'Is an object refused with another key, and by another way of encrypting?',
    rights: TEMPORARY_OBJECT_RIGHTS,
    answer: (verifying) => {
      const [, partition, , region, account] = verifying.target.StateMachineArn.split(':');
      const SSEKMSKeyId = `arn:${partition}:kms:${region}:${account}:alias/aws/s3`;
      const puts = {
        'with the key aws/s3': { ServerSideEncryption: 'aws:kms', SSEKMSKeyId },
        'by AES256': { ServerSideEncryption: 'AES256' },
      } as const;
      return refused(verifying, puts, false);
    },
  },
];

async function encryption(verifying: Verifying): Promise<Finding> {
  const { target } = verifying;
  const { key, manifestKey } = await publishedBy(verifying);
  const ours = await keyIdOf(target);
  const wrong: string[] = [];
  let encrypted = 0;
  for (const Key of [key, manifestKey]) {
    const head = await target.s3.send(new HeadObjectCommand({ Bucket: target.BucketName, Key }));
    const { ServerSideEncryption: by, SSEKMSKeyId: id = '' } = head;
    encrypted += by ? 1 : 0;
    if (by !== 'aws:kms') wrong.push(`${Key} is encrypted by ${by ?? 'nothing'}`);
    else if (id.split('/').at(-1) !== ours) wrong.push(`${Key} is encrypted with another key, ${id}`);
  }
  const finding = holdsUnless(wrong, `both by aws:kms with the key ${ours} of the deployment`);
  // S3 encrypts every object: https://docs.aws.amazon.com/AmazonS3/latest/userguide/default-encryption-faq.html
  return encrypted > 0 ? finding : unlessLocal(verifying, finding);
}

async function refused(verifying: Verifying, puts: Record<string, Put>, plainHttp: boolean): Promise<Finding> {
  const stored: string[] = [];
  for (const [how, put] of Object.entries(puts)) {
    if (!(await isRefused(verifying, put, plainHttp))) stored.push(`stored ${how}`);
  }
  const found = `AccessDenied by the policy of the bucket: ${Object.keys(puts).join(', ')}`;
  const finding = holdsUnless(stored, found, `The policy of the bucket should refuse it: ${REWRITE}.`);
  return unlessLocal(verifying, finding);
}

/** @throws CannotTell if S3 refuses for another reason than the policy: credentials without the right prove nothing */
async function isRefused({ target, id }: Verifying, put: Put, plainHttp: boolean): Promise<boolean> {
  const { s3, BucketName: Bucket } = target;
  const Key = `${TEMPORARY_PREFIX}${id}`;
  const command = new PutObjectCommand({ Bucket, Key, Body: 'verify', ...put });
  if (plainHttp) {
    const overPlainHttp = ({ request }: { request: unknown }) =>
      Object.assign(request as object, { protocol: 'http:' });
    command.middlewareStack.add((next) => (args) => next({ ...args, request: overPlainHttp(args) }), { step: 'build' });
  }
  try {
    const { VersionId } = await s3.send(command);
    // Deletes the version: a plain delete would leave a version and a marker for a day.
    await s3.send(new DeleteObjectCommand({ Bucket, Key, VersionId }));
    return false;
  } catch (error) {
    if (!(error instanceof Error && error.name === 'AccessDenied')) throw error;
    // https://docs.aws.amazon.com/AmazonS3/latest/userguide/troubleshoot-403-errors.html
    if (/explicit deny in a resource-based policy/.test(error.message)) return true;
    throw new CannotTell('S3 does not name the bucket policy as the reason: these credentials may lack s3:PutObject');
  }
}
