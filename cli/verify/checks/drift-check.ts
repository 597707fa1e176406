import {
  DescribeStackDriftDetectionStatusCommand,
  DescribeStackResourceDriftsCommand,
  DetectStackDriftCommand,
} from '@aws-sdk/client-cloudformation';
import { broken, type Check, type Finding, heldUnless, lookUntil, NotChecked } from '../base/check.ts';
import type { Verifying } from '../base/verifying.ts';

/** What was changed by hand; CloudFormation looks at every resource with the rights of whoever asks. */
export const DRIFT_CHECK: Check = {
  id: 'drift',
  does: 'lets CloudFormation compare the stack with the account',
  look: drift,
};

async function drift(verifying: Verifying): Promise<Finding> {
  const { cloudformation, stack: StackName } = verifying.target;
  const { StackDriftDetectionId } = await cloudformation.send(new DetectStackDriftCommand({ StackName }));
  const status = await lookUntil(
    () => cloudformation.send(new DescribeStackDriftDetectionStatusCommand({ StackDriftDetectionId })),
    ({ DetectionStatus }) => DetectionStatus !== 'DETECTION_IN_PROGRESS',
    verifying,
  );
  const { DetectionStatus, DetectionStatusReason, StackDriftStatus } = status;
  if (DetectionStatus === 'DETECTION_IN_PROGRESS') throw new NotChecked('CloudFormation was still comparing');
  const changed = await changes(verifying);
  if (DetectionStatus === 'DETECTION_FAILED' && changed.length === 0) {
    throw new NotChecked(
      `CloudFormation could not look at every resource: ${DetectionStatusReason ?? 'it does not say why'}`,
    );
  }
  if (changed.length === 0 && StackDriftStatus !== 'IN_SYNC')
    return broken(`the stack is ${StackDriftStatus}`, 'Look again.');
  return heldUnless(changed, 'CloudFormation finds nothing that was changed by hand');
}

/** Properties by their names: values may be anything. */
async function changes({ target }: Verifying): Promise<string[]> {
  const changed: string[] = [];
  for (let NextToken: string | undefined; ; ) {
    const page = await target.cloudformation.send(
      new DescribeStackResourceDriftsCommand({
        StackName: target.stack,
        StackResourceDriftStatusFilters: ['MODIFIED', 'DELETED'],
        NextToken,
      }),
    );
    for (const one of page.StackResourceDrifts ?? []) {
      const paths = (one.PropertyDifferences ?? []).map(({ PropertyPath }) => PropertyPath).join(', ');
      changed.push(`${one.LogicalResourceId} is ${one.StackResourceDriftStatus}${paths ? ` (${paths})` : ''}`);
    }
    if (!page.NextToken) return changed;
    NextToken = page.NextToken;
  }
}
