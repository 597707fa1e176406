import type { LifecycleRule } from '@aws-sdk/client-s3';
import * as z from 'zod/mini';

/** A lifecycle rule, whether in words of CloudFormation or of S3; days, where it has them. */
interface Rule {
  id: string;
  prefix: string;
  enabled: boolean;
  expires: number | undefined;
  noncurrent: number | undefined;
  incomplete: number | undefined;
  deleteMarkers: boolean;
}

const days = z.optional(z.number());
const ruleSchema = z.object({
  Id: z._default(z.string(), ''),
  Prefix: z._default(z.string(), ''),
  Status: z.string(),
  ExpirationInDays: days,
  ExpiredObjectDeleteMarker: z._default(z.boolean(), false),
  NoncurrentVersionExpiration: z.optional(z.object({ NoncurrentDays: days })),
  AbortIncompleteMultipartUpload: z.optional(z.object({ DaysAfterInitiation: days })),
});
const bucketSchema = z.object({ LifecycleConfiguration: z.object({ Rules: z.array(ruleSchema) }) });

/** @param properties of the bucket in the template */
export function configuredRules(properties: object): Rule[] {
  const parsed = bucketSchema.safeParse(properties);
  return (parsed.data?.LifecycleConfiguration.Rules ?? []).map((rule) => ({
    id: rule.Id,
    prefix: rule.Prefix,
    enabled: rule.Status === 'Enabled',
    expires: rule.ExpirationInDays,
    noncurrent: rule.NoncurrentVersionExpiration?.NoncurrentDays,
    incomplete: rule.AbortIncompleteMultipartUpload?.DaysAfterInitiation,
    deleteMarkers: rule.ExpiredObjectDeleteMarker,
  }));
}

export function deployedRule(rule: LifecycleRule): Rule {
  return {
    id: rule.ID ?? '',
    prefix: rule.Filter?.Prefix ?? rule.Prefix ?? '',
    enabled: rule.Status === 'Enabled',
    expires: rule.Expiration?.Days,
    noncurrent: rule.NoncurrentVersionExpiration?.NoncurrentDays,
    incomplete: rule.AbortIncompleteMultipartUpload?.DaysAfterInitiation,
    deleteMarkers: rule.Expiration?.ExpiredObjectDeleteMarker ?? false,
  };
}

/** A text that is equal for equal rules. */
export function ruleText({ id, prefix, enabled, expires, noncurrent, incomplete, deleteMarkers }: Rule): string {
  const does = [
    ...(enabled ? [] : ['is off']),
    ...(expires === undefined ? [] : [`expires after ${expires} days`]),
    ...(noncurrent === undefined ? [] : [`noncurrent versions after ${noncurrent} days`]),
    ...(incomplete === undefined ? [] : [`incomplete uploads after ${incomplete} days`]),
    ...(deleteMarkers ? ['empty delete markers'] : []),
  ];
  return `${id} (${prefix || 'everything'}: ${does.join(', ')})`;
}
