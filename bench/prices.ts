/**
 * List prices in US dollars, us-east-1, arm64, without free tiers, as collected in November 2026. The price pages:
 * https://aws.amazon.com/{step-functions,lambda,s3,kms,cloudwatch,xray,secrets-manager,dynamodb}/pricing/
 */
export const PRICE = {
  transition: 0.000025,
  gbSecond: 0.0000133334,
  /** A gigabyte of a function's own disk, beyond the 512 MB that are free. */
  diskGigabyteSecond: 0.0000000309,
  invocation: 0.0000002,
  /** Every request to the bucket counts as a PUT; a GET costs a twelfth. */
  storeRequest: 0.000005,
  logGigabyte: 0.5,
  trace: 0.000005,
  kmsRequest: 0.000003,
  secretRequest: 0.000005,
  /** Prices per month. */
  key: 1,
  secret: 0.4,
  alarm: 0.1,
  dashboard: 3,
  /** The price of a gigabyte in S3 Standard for a month. */
  storedGigabyte: 0.023,
  /** Prorated by the hours with data. */
  metric: 0.3,
} as const;

export const NIGHTS_A_MONTH = 30.4;
export const HOURS_A_MONTH = 730;
