import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { type Conditions, Effect, type IPrincipal, PolicyStatement, StarPrincipal } from 'aws-cdk-lib/aws-iam';
import { BlockPublicAccess, Bucket, BucketEncryption, type CfnBucket, type LifecycleRule } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { feedEntities } from '../../core/changes/feed-keys.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import { SINCE_KEY } from '../../core/night/watched-since.ts';
import { sharedAs } from '../../core/readers/reader-access.ts';
import type { FunctionName } from '../../core/step/steps.ts';
import type { EncryptionKey } from './encryption-key.ts';
import { allowReaders } from './reader-rights.ts';

const TABLED = ['s3:GetObject', 's3:PutObject', 's3:PutObjectTagging', 's3:AbortMultipartUpload'];

/** A function, or the machine of customer updates, which reads the index of a batch itself. */
type Name = FunctionName | 'CustomerUpdates';

/** Patterns of keys. */
interface Rights {
  reads: string[];
  writes?: string[];
  /** Objects that are written in parts. */
  uploads?: string[];
  /** Tables or feeds, which are read and written in parts, each with the tag for readers in other accounts. */
  tables?: string[];
  /** Files that get that tag. */
  tags?: string[];
  /** Keys to list. Without this right, a missing object would look forbidden (docs/adr/0008). */
  lists?: string;
}

/** The permissions of each role for the objects of the bucket. */
function rightsIn(deployment: Deployment): Partial<Record<Name, Rights>> {
  const feeds = feedEntities(deployment).length > 0 ? ['changes/*'] : [];
  const manifests = 'runs/*/_manifest.json';
  const pointers = 'published/entity=*/latest.json';
  const batch = (...names: string[]) => names.map((name) => `updates/*/${name}`);
  return {
    CreateExport: { reads: [manifests, 'published/*'], lists: 'published/*' },
    DownloadFile: { reads: ['runs/*'], uploads: ['runs/*'] },
    PublishFile: {
      reads: ['runs/*', 'published/*'],
      writes: [manifests, 'runs/*/_release.json', 'published/*'],
      tags: sharedAs('files', deployment).map((entity) => `runs/entity=${entity}/*`),
      lists: '*',
    },
    RecordNight: {
      reads: [manifests, 'published/*', 'tables/*', SINCE_KEY, ...feeds],
      writes: ['published/nights/*', SINCE_KEY],
      lists: '*',
    },
    WriteTable: { reads: ['runs/*', 'published/*'], tables: ['tables/*'], lists: '*' },
    WriteChanges: { reads: ['published/*', 'tables/*'], tables: ['changes/*'], lists: '*' },
    ValidateBatch: { reads: ['updates/*'], writes: batch('_started.json', 'chunks.jsonl'), lists: '*' },
    ApplyChunk: { reads: ['updates/*'], writes: batch('results/*', 'failures/*', 'stop.json'), lists: '*' },
    SummarizeBatch: {
      reads: ['updates/*'],
      uploads: batch('result.jsonl'),
      writes: batch('_manifest.json', 'stop.json'),
      lists: '*',
    },
    CustomerUpdates: { reads: batch('chunks.jsonl') },
    MailFailedRuns: { reads: [pointers], lists: pointers },
  };
}

/** Settings of both buckets. CloudFormation cannot remove a bucket that is not empty, so they are retained. */
const SHARED = {
  blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
  enforceSSL: true,
  minimumTLSVersion: 1.2,
  versioned: true,
  removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
};

/** Condition keys for the headers with which a request chooses the encryption of its object. */
const ALGORITHM = 's3:x-amz-server-side-encryption';
const KEY_ID = 's3:x-amz-server-side-encryption-aws-kms-key-id';
const CUSTOMER_KEY = 's3:x-amz-server-side-encryption-customer-algorithm';

/**
 * The bucket of the exports. Its policy has the permissions, because it can name prefixes without wildcards in the
 * functions' policies. AWS generates the bucket name, so that a new stack never collides with an old bucket.
 */
export class ExportBucket extends Construct {
  readonly bucket: Bucket;
  readonly accessLogs: Bucket;
  private readonly key: EncryptionKey;
  private readonly deployment: Deployment;

  constructor(scope: Construct, id: string, { deployment, key }: { deployment: Deployment; key: EncryptionKey }) {
    super(scope, id);
    this.key = key;
    this.deployment = deployment;
    // The access log has a line for each request, within hours. S3 cannot deliver it to a bucket with a customer key
    // (https://docs.aws.amazon.com/AmazonS3/latest/userguide/enable-server-access-logging.html).
    const lines = { id: 'Lines', expiration: Duration.days(deployment.logRetentionDays) };
    this.accessLogs = new Bucket(new Construct(this, 'AccessLogs'), 'Bucket', {
      ...SHARED,
      encryption: BucketEncryption.S3_MANAGED,
      lifecycleRules: [lines, NONCURRENT, INCOMPLETE],
    });
    this.bucket = new Bucket(this, 'Bucket', {
      ...SHARED,
      encryption: BucketEncryption.KMS,
      encryptionKey: key.key,
      // One data key for many objects, because each request to KMS costs money.
      bucketKeyEnabled: true,
      serverAccessLogsBucket: this.accessLogs,
      serverAccessLogsPrefix: 'exports/',
      lifecycleRules: lifecycle(deployment),
    });
    // S3 sends an event for every created or deleted object to the account's default event bus. `eventBridgeEnabled` of
    // CDK would add a custom resource with its own function.
    const eventBridgeConfiguration = { eventBridgeEnabled: true };
    (this.bucket.node.defaultChild as CfnBucket).notificationConfiguration = { eventBridgeConfiguration };
    this.refuseOtherKeys();
    allowReaders(this.bucket, deployment);
    // The retained buckets keep their policies against plain HTTP.
    for (const { policy } of [this.accessLogs, this.bucket])
      policy?.applyRemovalPolicy(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE);
  }

  /** Gives a role the rights that `rightsIn` lists for its name. */
  allow(name: Name, role: IPrincipal): void {
    const rights = rightsIn(this.deployment)[name];
    if (!rights) return;
    const { reads, writes = [], uploads = [], tables = [], tags = [], lists } = rights;
    this.allowObjects(role, ['s3:GetObject'], reads);
    this.allowObjects(role, ['s3:PutObject', 's3:AbortMultipartUpload'], uploads);
    this.allowObjects(role, ['s3:PutObject'], writes);
    this.allowObjects(role, ['s3:PutObjectTagging'], tags);
    this.allowObjects(role, TABLED, tables);
    if (name === 'DownloadFile') this.allowObjects(role, ['s3:ListMultipartUploadParts'], uploads);
    if (lists) {
      const conditions = lists === '*' ? {} : { StringLike: { 's3:prefix': lists } };
      const listing = { actions: ['s3:ListBucket'], resources: [this.bucket.bucketArn], conditions };
      this.bucket.addToResourcePolicy(new PolicyStatement({ principals: [role], ...listing }));
    }
    // Writers need both actions: each part is encrypted with the data key of its upload
    // (https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html#mpuAndPermissions).
    const writer = writes.length + uploads.length + tables.length > 0;
    this.key.allow(role, 's3', writer ? ['kms:Decrypt', 'kms:GenerateDataKey'] : ['kms:Decrypt']);
  }

  private allowObjects(role: IPrincipal, actions: string[], keys: string[]): void {
    if (keys.length === 0) return;
    const resources = keys.map((key) => this.bucket.arnForObjects(key));
    this.bucket.addToResourcePolicy(new PolicyStatement({ principals: [role], actions, resources }));
  }

  /**
   * A request must name the bucket's own key or no key. Each comparison also has a `Null` condition, because a
   * comparison with a missing header holds and would refuse the request.
   */
  private refuseOtherKeys(): void {
    const refused: Record<string, Conditions> = {
      OtherAlgorithm: { Null: { [ALGORITHM]: 'false' }, StringNotEquals: { [ALGORITHM]: 'aws:kms' } },
      OtherKey: { Null: { [KEY_ID]: 'false' }, StringNotEquals: { [KEY_ID]: this.key.key.keyArn } },
      // KMS without a key name selects the account's own key for S3, not the bucket's key.
      UnnamedKey: { Null: { [KEY_ID]: 'true' }, StringEquals: { [ALGORITHM]: 'aws:kms' } },
      CustomerKey: { Null: { [CUSTOMER_KEY]: 'false' } },
    };
    const put = { effect: Effect.DENY, principals: [new StarPrincipal()], actions: ['s3:PutObject'] };
    const resources = [this.bucket.arnForObjects('*')];
    for (const [sid, conditions] of Object.entries(refused))
      this.bucket.addToResourcePolicy(new PolicyStatement({ sid, ...put, resources, conditions }));
  }
}

/** In a versioned bucket, an expired object leaves a noncurrent version and a delete marker: both are removed. */
const NONCURRENT = {
  id: 'NoncurrentVersions',
  noncurrentVersionExpiration: Duration.days(1),
  expiredObjectDeleteMarker: true,
};
const INCOMPLETE = { id: 'IncompleteUploads', abortIncompleteMultipartUploadAfter: Duration.days(2) };

function lifecycle({ retentionDays, updates }: Deployment): LifecycleRule[] {
  const kept = Duration.days(retentionDays);
  return [
    INCOMPLETE,
    { id: 'Runs', prefix: 'runs/', expiration: kept },
    { id: 'Pointers', prefix: 'published/', expiration: kept },
    // The next three rules always exist, so that objects expire even after their feature is switched off.
    { id: 'Tables', prefix: 'tables/', expiration: kept },
    { id: 'Changes', prefix: 'changes/', expiration: kept },
    { id: 'Updates', prefix: 'updates/', expiration: Duration.days(updates.retentionDays) },
    NONCURRENT,
  ];
}
