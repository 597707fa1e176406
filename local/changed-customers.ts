import { feedRecords, feedText } from '../cli/changes/feeds.ts';
import type { Target } from '../cli/support/target.ts';
import { CRM_EXPORT } from '../core/commands.ts';
import { createBucket } from '../core/storage/bucket.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { rowsOf } from '../sandbox/world/settings.ts';
import { COMPARED, LOCAL_DEPLOYMENT } from './configuration.ts';
import type { Screen } from './screen.ts';

/** One customer is removed from the CRM, one comes, and two are edited. */
export function changeCustomers({ records, settings }: Sandbox): { [COMPARED]: number } {
  records.updateCustomer(2, { city: 'אילת' });
  records.updateCustomer(4, { city: 'חיפה', streetNumber: '12' });
  records.remove(COMPARED, 7);
  return { [COMPARED]: rowsOf(settings, COMPARED) + 1 };
}

/** Shows the counts of the newest feed, as `npx --no -- crm-export changes` does. @returns whether the feed counts these changes and no others */
export async function showChanges({ s3, BucketName }: Target, screen: Screen): Promise<boolean> {
  const bucket = createBucket(s3, BucketName);
  const { feeds } = await feedRecords(bucket, COMPARED, {});
  screen.line(`\n$ ${CRM_EXPORT} changes ${COMPARED} --deployment ${LOCAL_DEPLOYMENT}`);
  for (const feed of feeds) screen.line(feedText(feed));
  const [feed] = feeds;
  return feed?.kind === 'changes' && feed.inserts === 1 && feed.deletes === 1 && feed.updates === 2;
}
