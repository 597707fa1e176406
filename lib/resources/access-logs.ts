import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { BlockPublicAccess, Bucket, BucketEncryption } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import type { Deployment } from '../../core/config/deployment.ts';

/**
 * Access log of the bucket of the exports: S3 writes a line for each request here, within hours. S3's own key, for it
 * delivers to no bucket that has another
 * (https://docs.aws.amazon.com/AmazonS3/latest/userguide/enable-server-access-logging.html). Kept as long as log lines.
 */
export class AccessLogs extends Construct {
  readonly bucket: Bucket;

  constructor(scope: Construct, id: string, { logRetentionDays }: Pick<Deployment, 'logRetentionDays'>) {
    super(scope, id);
    this.bucket = new Bucket(this, 'Bucket', {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      encryption: BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      minimumTLSVersion: 1.2,
      versioned: true,
      // A bucket with anything in it cannot be removed, and what happened should outlive what it happened to.
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
      lifecycleRules: [
        { id: 'Lines', expiration: Duration.days(logRetentionDays) },
        { id: 'NoncurrentVersions', noncurrentVersionExpiration: Duration.days(1), expiredObjectDeleteMarker: true },
        { id: 'IncompleteUploads', abortIncompleteMultipartUploadAfter: Duration.days(2) },
      ],
    });
    this.bucket.policy?.applyRemovalPolicy(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE);
  }
}
