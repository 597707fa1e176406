import { feedRecords } from '../cli/changes/feeds.ts';
import { feedsText } from '../cli/changes/feeds-text.ts';
import type { Screen } from '../cli/runs/screen.ts';
import type { Target } from '../cli/support/target.ts';
import { CRM_EXPORT } from '../core/commands.ts';
import { createBucket } from '../core/storage/bucket.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { rowsOf } from '../sandbox/world/settings.ts';
import { COMPARED, LOCAL_DEPLOYMENT } from './configuration.ts';

/** Where standard output says no width: rows that fit into most windows. */
const WIDTH = 100;

/** One customer is removed from the CRM, one comes, and two are edited. */
export function changeCustomers({ records, settings }: Sandbox): { [COMPARED]: number } {
  records.updateCustomer(2, { city: 'אילת' });
  records.updateCustomer(4, { city: 'חיפה', streetNumber: '12' });
  records.remove(COMPARED, 7);
  return { [COMPARED]: rowsOf(settings, COMPARED) + 1 };
}

/** Shows what has changed, as `npx --no -- crm-export changes` does it. @returns whether the feed has these changes and no others */
export async function showChanges({ s3, BucketName }: Target, screen: Screen): Promise<boolean> {
  const bucket = createBucket(s3, BucketName);
  const { feeds } = await feedRecords(bucket, COMPARED, {});
  screen.line(`\n$ ${CRM_EXPORT} changes ${COMPARED} --deployment ${LOCAL_DEPLOYMENT}`);
  for await (const text of feedsText(bucket, feeds, process.stdout.columns ?? WIDTH)) screen.line(text.trimEnd());
  const [feed] = feeds;
  return feed?.kind === 'changes' && feed.inserts === 1 && feed.deletes === 1 && feed.updates === 2;
}
