import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { type Conditions, Effect, type IPrincipal, PolicyStatement, StarPrincipal } from 'aws-cdk-lib/aws-iam';
import { BlockPublicAccess, Bucket, BucketEncryption, CfnBucket, type LifecycleRule } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { feedEntities } from '../../core/changes/feed-entities.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import { SINCE_KEY } from '../../core/night/watched-since.ts';
import { sharedAs } from '../../core/readers/reader-access.ts';
import type { EncryptionKey } from './encryption-key.ts';
import { allowReaders } from './reader-rights.ts';

interface ExportBucketProps {
  deployment: Deployment;
  key: EncryptionKey;
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

/** The rights of a function on the tables or feeds that it writes, each with the tag for readers in other accounts. */
const TABLED = ['s3:GetObject', 's3:PutObject', 's3:PutObjectTagging', 's3:AbortMultipartUpload'];

/**
 * The bucket of the exports. Its policy has the permissions, because it can name prefixes without wildcards in the
 * functions' policies. AWS generates the bucket name, so that a new stack never collides with an old bucket.
 */
export class ExportBucket extends Construct {
  readonly bucket: Bucket;
  readonly accessLogs: Bucket;
  private readonly key: EncryptionKey;
  private readonly deployment: Deployment;

  constructor(scope: Construct, id: string, { deployment, key }: ExportBucketProps) {
    super(scope, id);
    this.key = key;
    this.deployment = deployment;
    this.accessLogs = accessLogs(new Construct(this, 'AccessLogs'), deployment.logRetentionDays);
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
    this.announceObjects();
    this.refuseOtherKeys();
    allowReaders({ bucket: this.bucket, key: key.key }, deployment);
    // The retained bucket keeps its policy against plain HTTP.
    this.bucket.policy?.applyRemovalPolicy(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE);
  }

  /** Reads pointers and their manifests. Without listing, a missing pointer would look forbidden (docs/adr/0008). */
  allowComparing(role: IPrincipal): void {
    this.allow(role, ['s3:GetObject'], ['runs/*/_manifest.json', 'published/*']);
    this.allowListing(role, { StringLike: { 's3:prefix': 'published/*' } });
    this.key.allow(role, 's3', ['kms:Decrypt']);
  }

  /** Reads the newest pointer of each entity. Without listing, a missing pointer would look forbidden. */
  allowPointers(role: IPrincipal): void {
    const pointers = 'published/entity=*/latest.json';
    this.allow(role, ['s3:GetObject'], [pointers]);
    this.allowListing(role, { StringLike: { 's3:prefix': pointers } });
    this.key.allow(role, 's3', ['kms:Decrypt']);
  }

  /** Stores files of runs in parts, and reads which parts are stored. */
  allowStoring(role: IPrincipal): void {
    const upload = ['s3:PutObject', 's3:ListMultipartUploadParts', 's3:AbortMultipartUpload'];
    this.allow(role, [...upload, 's3:GetObject'], ['runs/*']);
    this.allowKey(role);
  }

  /**
   * Reads files of runs, writes manifests and pointers, and tags files for readers in other accounts. Without the
   * right to list, a missing pointer would look forbidden.
   */
  allowPublishing(role: IPrincipal): void {
    this.allow(role, ['s3:GetObject'], ['runs/*', 'published/*']);
    this.allow(role, ['s3:PutObject'], ['runs/*/_manifest.json', 'runs/*/_release.json', 'published/*']);
    const shared = sharedAs('files', this.deployment).map((entity) => `runs/entity=${entity}/*`);
    if (shared.length > 0) this.allow(role, ['s3:PutObjectTagging'], shared);
    this.allowListing(role);
    this.allowKey(role);
  }

  /** Reads files, manifests and pointers, and writes tables. It may list all keys (docs/adr/0008). */
  allowTables(role: IPrincipal): void {
    this.allow(role, ['s3:GetObject'], ['runs/*', 'published/*']);
    this.allow(role, TABLED, ['tables/*']);
    this.allowListing(role);
    this.allowKey(role);
  }

  /** Reads pointers and tables, and writes feeds and their bases. It may list all keys. */
  allowChanges(role: IPrincipal): void {
    this.allow(role, ['s3:GetObject'], ['published/*', 'tables/*']);
    this.allow(role, TABLED, ['changes/*']);
    this.allowListing(role);
    this.allowKey(role);
  }

  /** Reads pointers, manifests and metadata of tables, and writes nights. It may list all keys. */
  allowNights(role: IPrincipal): void {
    const feeds = feedEntities(this.deployment).length > 0 ? ['changes/*'] : [];
    this.allow(role, ['s3:GetObject'], ['runs/*/_manifest.json', 'published/*', 'tables/*', SINCE_KEY, ...feeds]);
    this.allow(role, ['s3:PutObject'], ['published/nights/*', SINCE_KEY]);
    this.allowListing(role);
    this.allowKey(role);
  }

  /** Reads batches of customer updates, and writes the named objects. It may list all keys (docs/adr/0008). */
  allowUpdating(role: IPrincipal, written: string[], actions = ['s3:PutObject']): void {
    this.allow(role, ['s3:GetObject'], ['updates/*']);
    this.allow(
      role,
      actions,
      written.map((name) => `updates/*/${name}`),
    );
    this.allowListing(role);
    this.allowKey(role);
  }

  /** Reads the index of the chunks of a batch, from which the machine starts its children. */
  allowReadingIndex(role: IPrincipal): void {
    this.allow(role, ['s3:GetObject'], ['updates/*/chunks.jsonl']);
    this.key.allow(role, 's3', ['kms:Decrypt']);
  }

  /**
   * S3 sends an event for every created or deleted object to the account's default event bus. `eventBridgeEnabled` of
   * CDK would add a custom resource with its own function.
   */
  private announceObjects(): void {
    const { defaultChild } = this.bucket.node;
    if (!(defaultChild instanceof CfnBucket)) throw new Error('the bucket has no resource of its own');
    defaultChild.notificationConfiguration = { eventBridgeConfiguration: { eventBridgeEnabled: true } };
  }

  /**
   * Writers need both actions: each part is encrypted with the data key of its upload
   * (https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html#mpuAndPermissions).
   */
  private allowKey(role: IPrincipal): void {
    this.key.allow(role, 's3', ['kms:Decrypt', 'kms:GenerateDataKey']);
  }

  private allowListing(role: IPrincipal, conditions: Conditions = {}): void {
    const listing = { principals: [role], actions: ['s3:ListBucket'], resources: [this.bucket.bucketArn], conditions };
    this.bucket.addToResourcePolicy(new PolicyStatement(listing));
  }

  private allow(role: IPrincipal, actions: string[], keys: string[]): void {
    const resources = keys.map((key) => this.bucket.arnForObjects(key));
    this.bucket.addToResourcePolicy(new PolicyStatement({ principals: [role], actions, resources }));
  }

  /**
   * A request must name the bucket's own key or no key. Each comparison also has a `Null` condition, because a
   * comparison with a missing header holds and would refuse the request.
   */
  private refuseOtherKeys(): void {
    const { keyArn } = this.key.key;
    this.refuse('OtherAlgorithm', { Null: { [ALGORITHM]: 'false' }, StringNotEquals: { [ALGORITHM]: 'aws:kms' } });
    this.refuse('OtherKey', { Null: { [KEY_ID]: 'false' }, StringNotEquals: { [KEY_ID]: keyArn } });
    // KMS without a key name selects the account's own key for S3, not the bucket's key.
    this.refuse('UnnamedKey', { Null: { [KEY_ID]: 'true' }, StringEquals: { [ALGORITHM]: 'aws:kms' } });
    this.refuse('CustomerKey', { Null: { [CUSTOMER_KEY]: 'false' } });
  }

  private refuse(sid: string, conditions: Conditions): void {
    const statement = { sid, effect: Effect.DENY, principals: [new StarPrincipal()], actions: ['s3:PutObject'] };
    const resources = [this.bucket.arnForObjects('*')];
    this.bucket.addToResourcePolicy(new PolicyStatement({ ...statement, resources, conditions }));
  }
}

/**
 * The access log of the export bucket: a line for each request, within hours. S3 cannot deliver it to a bucket with a
 * customer key (https://docs.aws.amazon.com/AmazonS3/latest/userguide/enable-server-access-logging.html).
 */
function accessLogs(scope: Construct, logRetentionDays: number): Bucket {
  const bucket = new Bucket(scope, 'Bucket', {
    ...SHARED,
    encryption: BucketEncryption.S3_MANAGED,
    lifecycleRules: [{ id: 'Lines', expiration: Duration.days(logRetentionDays) }, NONCURRENT, INCOMPLETE],
  });
  bucket.policy?.applyRemovalPolicy(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE);
  return bucket;
}

/** In a versioned bucket, an expired object leaves a noncurrent version and a delete marker: both are removed. */
const NONCURRENT: LifecycleRule = {
  id: 'NoncurrentVersions',
  noncurrentVersionExpiration: Duration.days(1),
  expiredObjectDeleteMarker: true,
};
const INCOMPLETE: LifecycleRule = {
  id: 'IncompleteUploads',
  abortIncompleteMultipartUploadAfter: Duration.days(2),
};

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
