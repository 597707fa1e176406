import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { type IPrincipal, PolicyStatement, type PolicyStatementProps } from 'aws-cdk-lib/aws-iam';
import { BlockPublicAccess, Bucket, BucketEncryption, type LifecycleRule } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import type { Deployment } from '../lambdas/shared/deployment.ts';

type RetentionProps = Pick<Deployment, 'retentionDays'> & { updates: Pick<Deployment['updates'], 'retentionDays'> };

/**
 * The bucket of the exports. Rights are given in the bucket's policy: it can name prefixes, and the functions' own policies
 * stay without wildcards. Kept when the stack is destroyed; without a name of its own, so that a new stack never collides.
 */
export class ExportBucket extends Construct {
  readonly bucket: Bucket;

  constructor(scope: Construct, id: string, { retentionDays, updates }: RetentionProps) {
    super(scope, id);
    this.bucket = new Bucket(this, 'Bucket', {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      encryption: BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      minimumTLSVersion: 1.2,
      versioned: true,
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
      lifecycleRules: lifecycle(retentionDays, updates.retentionDays),
    });
    // What is kept keeps its rule against plain http as well.
    this.bucket.policy?.applyRemovalPolicy(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE);
  }

  /** Stores files of runs in parts that a later invocation goes on from, and looks at what stands there already. */
  allowStoring(role: IPrincipal): void {
    const upload = ['s3:PutObject', 's3:ListMultipartUploadParts', 's3:AbortMultipartUpload'];
    this.allow(role, [...upload, 's3:GetObject'], ['runs/*']);
  }

  /** Reads files of runs, writes manifests and pointers. Without the right to list, an absent pointer would look forbidden. */
  allowPublishing(role: IPrincipal): void {
    this.allow(role, ['s3:GetObject'], ['runs/*', 'published/*']);
    this.allow(role, ['s3:PutObject'], ['runs/*/_manifest.json', 'published/*']);
    this.allowListing(role);
  }

  /**
   * Reads batches of customer updates, and writes the named objects of them. Lists batches only; that an absent object of
   * them does not look forbidden rests on the same right (docs/adr/0008).
   */
  allowUpdating(role: IPrincipal, written: string[], actions = ['s3:PutObject']): void {
    this.allow(role, ['s3:GetObject'], ['updates/*']);
    this.allow(
      role,
      actions,
      written.map((name) => `updates/*/${name}`),
    );
    this.allowListing(role, { StringLike: { 's3:prefix': 'updates/*' } });
  }

  /** Reads the index of the chunks of a batch, which the machine starts its children by. */
  allowReadingIndex(role: IPrincipal): void {
    this.allow(role, ['s3:GetObject'], ['updates/*/chunks.jsonl']);
  }

  private allowListing(role: IPrincipal, conditions: PolicyStatementProps['conditions'] = {}): void {
    const listing = { principals: [role], actions: ['s3:ListBucket'], resources: [this.bucket.bucketArn] };
    this.bucket.addToResourcePolicy(new PolicyStatement({ ...listing, conditions }));
  }

  private allow(role: IPrincipal, actions: string[], keys: string[]): void {
    const resources = keys.map((key) => this.bucket.arnForObjects(key));
    this.bucket.addToResourcePolicy(new PolicyStatement({ principals: [role], actions, resources }));
  }
}

/** A versioned bucket keeps what expires as a noncurrent version, and after that an empty delete marker: both go too. */
function lifecycle(retentionDays: number, updatesRetentionDays: number): LifecycleRule[] {
  const kept = Duration.days(retentionDays);
  return [
    { id: 'IncompleteUploads', abortIncompleteMultipartUploadAfter: Duration.days(2) },
    { id: 'Runs', prefix: 'runs/', expiration: kept },
    { id: 'Pointers', prefix: 'published/', expiration: kept },
    // There whether updates are switched on or not: what was left when they were must go as well.
    { id: 'Updates', prefix: 'updates/', expiration: Duration.days(updatesRetentionDays) },
    { id: 'NoncurrentVersions', noncurrentVersionExpiration: Duration.days(1), expiredObjectDeleteMarker: true },
  ];
}
